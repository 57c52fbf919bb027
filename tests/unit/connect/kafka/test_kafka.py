"""Topics of another cluster, read and written by a node in this process. Nodes and workers that are killed are in
tests/connect/kafka."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from barnabas.connect.connectors.kafka import feed as kafka_feed
from barnabas.connect.connectors.kafka.sink import KafkaSink, KafkaWriter
from barnabas.connect.connectors.kafka.source import KafkaSource
from barnabas.connect.contract import Delivered, Position, Record, Value
from barnabas.connect.errors import BadOption, Refused, Unavailable
from barnabas.testing import RunningNode, running_node
from tests.support.delivered import delivered, numbered
from tests.support.members import QUIET, until
from tests.support.process import free_port
from tests.unit.connect.kafka.copying import keys, made, produce, reading, take, writing, written_there

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SECRET = "not-to-be-shown"


@pytest.fixture(scope="module")
def there() -> Iterator[RunningNode]:
    with running_node({"transaction.state.log.num.partitions": "4"}) as running:
        yield running


def test_records_as_they_are(there: RunningNode) -> None:
    topic = made(there, 3)
    produce(there, topic, range(90), 3)
    source = KafkaSource("copy", {"bootstrap": there.bootstrap, "topics": [f"^{topic}$"]})
    assert source.splits() == [f"{topic}:{partition}" for partition in range(3)]
    with reading(there, f"{topic}:1", keep_partitions=True, to="east.{topic}") as reader:
        records, position = take(reader, 30)
        assert position["offset"] == 30
        assert keys(records) == list(range(1, 90, 3))
        for record in records:
            number = int(record.key[4:])
            assert record.value == (None if number % 10 == 9 else b"%d" % number)
            assert (record.topic, record.partition, record.timestamp_ms) == (f"east.{topic}", 1, 1000 + number)
            assert list(record.headers) == [("h", b"1"), ("h", None), ("n", b"%d" % number)]
        assert reader.read(1, 0.1) is None
        behind = reader.behind()
        assert behind is not None
        assert behind.records == 0


def test_every_record_once_over_restarts(there: RunningNode) -> None:
    topic = made(there)
    rng = random.Random(7)
    for number in range(0, 1000, 100):
        produce(there, topic, range(number, number + 100), commit=number % 300 != 200)
    expected = [number for number in range(1000) if number // 100 % 3 != 2]
    records: list[Record] = []
    position: Position | None = None
    while len(records) < len(expected):
        with reading(there, f"{topic}:0", position) as reader:
            for _ in range(rng.randint(2, 8)):
                chunk = reader.read(rng.randint(1, 100), 0.2)
                if chunk is not None:
                    records += chunk.records
                    position = json.loads(json.dumps(chunk.position))
            reader.read(50, 0.1)  # and the worker ends
    assert keys(records) == expected
    with reading(there, f"{topic}:0", isolation="read_uncommitted") as reader:
        assert keys(take(reader, 1000)[0]) == list(range(1000))


def test_partitions_share_a_consumer(there: RunningNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is not read holds back what is its own, and nobody else."""
    monkeypatch.setattr(kafka_feed, "_WAITING_MAX", 50)
    topic = made(there, 2)
    produce(there, topic, range(2000), 2)
    source = KafkaSource("copy", {"bootstrap": there.bootstrap, "topics": [topic]})
    first, second = source.open(f"{topic}:0", None), source.open(f"{topic}:1", None)
    try:
        assert first._feed is second._feed
        assert keys(take(first, 1000)[0]) == list(range(0, 2000, 2))
        assert keys(take(second, 500)[0])[:500] == list(range(1, 1000, 2))
        first.close()
        assert take(second, 500)[1]["offset"] == 1000
    finally:
        first.close()
        second.close()
    assert source._feed is None


def test_start_at_the_end(there: RunningNode) -> None:
    topic = made(there)
    produce(there, topic, range(10))
    with reading(there, f"{topic}:0", start="latest") as reader:
        assert reader.read(1, 0.2) is None
        produce(there, topic, range(10, 12))
        assert keys(take(reader, 2)[0]) == [10, 11]


def test_offsets_that_are_gone(there: RunningNode) -> None:
    topic = made(there)
    produce(there, topic, range(20))
    admin = AdminClient({**QUIET, "bootstrap.servers": there.bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 0, 15)]).values():
        future.result(20)
    position = {"offset": 5, "epoch": None}
    with reading(there, f"{topic}:0", position) as reader, pytest.raises(Unavailable) as stopped:
        until(lambda: reader.read(10, 0.2) is not None, "an error")
    assert f"offsets 5 to 14 of {topic}-0 at {there.bootstrap} were deleted before they were read" in str(stopped.value)
    with reading(there, f"{topic}:0", position, on_lost="continue") as reader:
        assert keys(take(reader, 5)[0]) == list(range(15, 20))
    beyond = {"offset": 500, "epoch": None}  # a cluster that was restored from before
    with reading(there, f"{topic}:0", beyond) as reader, pytest.raises(Unavailable, match="ends at 20"):
        until(lambda: reader.read(10, 0.2) is not None, "an error")


def test_sink_once_over_crashes(there: RunningNode) -> None:
    """Batches cut anyhow, writers that are left as they are, overlapping what was written."""
    rng = random.Random(7)
    topic = made(there, 2)
    name = f"copy-{topic}"
    left: list[KafkaWriter] = []
    at = 0
    records = numbered(0, 600)
    while at < 600:
        writer = KafkaSink(name, {"bootstrap": there.bootstrap, "topic": topic}).open("orders", 0)
        left.append(writer)
        at = writer.next_offset() or 0
        for _ in range(rng.randint(1, 3)):
            end = min(600, at + rng.randint(1, 80))
            writer.write(records[at:end], end)
            at = end
        if rng.random() < 0.7 and at < 600:  # a crash in the middle of a transaction
            writer._producer.begin_transaction()
            for _ in range(20):
                writer._producer.produce(topic, b"aborted")
            writer._producer.flush(10)
    found = written_there(there, topic)
    assert sorted(json.loads(message.value() or b"")["number"] for message in found) == list(range(600))
    for writer in left[:-1]:
        with pytest.raises(Unavailable):
            writer.write(records[:1], 1)
        writer.close()
    last = KafkaSink(name, {"bootstrap": there.bootstrap, "topic": topic}).open("orders", 0)
    with pytest.raises(Unavailable, match=f"another worker writes {name}/orders/0"):
        left[-1].write(records[:1], 1)
    last.close()
    left[-1].close()


def test_sink_keeps_what_a_record_has(there: RunningNode) -> None:
    topic = made(there, 4)
    headers = [("a", b"1"), ("a", None)]
    record = Delivered(topic, 3, 7, 12345, b"k", None, headers, read_from="orders")
    with writing(there, f"n-{topic}", keep_partitions=True) as writer:
        assert writer.next_offset() is None
        assert (
            writer.write([record, Delivered("no topic!", 3, 8, 1, None, {})], 9)[0].reason
            == "'no topic!' cannot name a topic"
        )
        assert writer.write([], 11) == []
    (message,) = written_there(there, topic)
    assert (message.partition(), message.key(), message.value()) == (3, b"k", None)
    assert (message.timestamp()[1], message.headers()) == (12345, headers)
    with writing(there, f"n-{topic}") as writer:
        assert writer.next_offset() == 11


def test_sink_refuses_what_is_too_large(there: RunningNode) -> None:
    """By the client's limit, and by the topic's."""
    topic = made(there, 1, max_message_bytes="2000")
    records = [delivered(0, "a"), delivered(1, "x" * 200_000), delivered(2, "y" * 3000), delivered(3, "b")]
    with writing(there, f"l-{topic}", topic=topic, max_bytes=100_000, compression="none") as writer:
        with pytest.raises(Refused) as refused:
            writer.write(records, 4)
        assert refused.value.records == (1,)
        with pytest.raises(Refused) as refused:
            writer.write([records[2]], 3)
        assert refused.value.records == ()
        assert writer.write([records[0], records[3]], 4) == []
    assert [message.value() for message in written_there(there, topic)] == [b"a", b"b"]


def test_sink_reset(there: RunningNode) -> None:
    topic = made(there)
    sink = KafkaSink(f"r-{topic}", {"bootstrap": there.bootstrap, "topic": topic})
    for offset in (0, 3):
        writer = sink.open("orders", 0)
        assert (writer.next_offset() or 0) == offset
        writer.write(numbered(offset, 5), 5)
        writer.close()
        sink.reset("orders", 0, 3)
    assert [json.loads(message.value() or b"")["number"] for message in written_there(there, topic)] == [
        0,
        1,
        2,
        3,
        4,
        3,
        4,
    ]


def test_logins_and_addresses(there: RunningNode) -> None:
    with pytest.raises(Unavailable) as refused:
        KafkaSource("x", {"bootstrap": f"127.0.0.1:{free_port()}", "topics": ["a"]}).splits()
    assert "127.0.0.1" in str(refused.value)
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN} required username="u" password="{SECRET}";',
    }
    with pytest.raises(Unavailable) as refused:
        KafkaSource("x", {"bootstrap": there.bootstrap, "topics": ["a"], "settings": login}).splits()
    assert SECRET not in str(refused.value)
    with pytest.raises(Unavailable) as refused:
        KafkaSink("x", {"bootstrap": there.bootstrap, "settings": login}).open("orders", 0)
    assert SECRET not in str(refused.value)
    with pytest.raises(Unavailable, match="has no topic 'missing'"):
        KafkaSource("x", {"bootstrap": there.bootstrap, "topics": ["missing"]}).splits()


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        (KafkaSource, {"bootstrap": "h:1"}, "needs the option 'topics'"),
        (KafkaSource, {"bootstrap": "h:1", "topics": []}, "'topics' of kafka is empty"),
        (KafkaSource, {"bootstrap": "h:x", "topics": ["a"]}, "is not a port"),
        (KafkaSource, {"bootstrap": "h:1", "topics": ["^("]}, "'topics' of kafka"),
        (KafkaSource, {"bootstrap": "h:1", "topics": ["a"], "to": "{name}!"}, "option 'to'"),
        (
            KafkaSource,
            {"bootstrap": "h:1", "topics": ["a"], "settings": {"group.id": SECRET}},
            "group.id is set by the connector",
        ),
        (
            KafkaSource,
            {"bootstrap": "h:1", "topics": ["a"], "settings": {"ssl.keystore.location": "/k.jks"}},
            "ssl.keystore.location",
        ),
        (KafkaSink, {"bootstrap": "h:1", "topic": "{value}"}, "{value} is not known"),
        (KafkaSink, {"bootstrap": "h:1", "offsets_topic": "a b"}, "cannot name a topic"),
        (KafkaSink, {"bootstrap": "h:1", "max_bytes": 1}, "'max_bytes'"),
    ],
)
def test_options_that_cannot_be_right(
    kind: type[KafkaSource | KafkaSink], options: dict[str, Value], said: str
) -> None:
    with pytest.raises(BadOption, match=said) as bad:
        kind("x", options)
    assert SECRET not in str(bad.value)

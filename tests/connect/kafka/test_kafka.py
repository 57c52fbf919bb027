"""Between two real nodes."""

from __future__ import annotations

import contextlib
import json
import random
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.connect.connectors.kafka import feed as kafka_feed
from barnabas.connect.connectors.kafka.sink import KafkaSink, KafkaWriter
from barnabas.connect.connectors.kafka.source import KafkaReader, KafkaSource
from barnabas.connect.contract import Delivered, Position, Record, Value
from barnabas.connect.errors import BadOption, Refused, Unavailable
from tests.support.connect import ConnectWorker, all_records, running, written
from tests.support.delivered import delivered, numbered
from tests.support.members import QUIET, until
from tests.support.process import free_port
from tests.support.servers import BarnabasNode

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SECRET = "not-to-be-shown"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode]:
    with BarnabasNode(tmp_path_factory.mktemp("here")) as node:
        assert isinstance(node, BarnabasNode)
        yield node


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode]:
    with BarnabasNode(tmp_path_factory.mktemp("there")) as node:
        assert isinstance(node, BarnabasNode)
        yield node


def made(node: BarnabasNode, partitions: int = 1, name: str = "", **config: str) -> str:
    name = name or f"t-{uuid.uuid4().hex[:8]}"
    settings = {word.replace("_", "."): value for word, value in config.items()}
    admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
    for future in admin.create_topics([NewTopic(name, partitions, 1, config=settings)]).values():
        future.result(20)
    return name


def produce(node: BarnabasNode, topic: str, numbers: range, partitions: int = 1, commit: bool | None = None) -> None:
    """With `commit`, in a transaction that ends so."""
    settings: dict[str, Value] = {**QUIET, "bootstrap.servers": node.bootstrap, "linger.ms": 1}
    if commit is not None:
        settings["transactional.id"] = f"p-{topic}"
    producer = Producer(settings)
    if commit is not None:
        producer.init_transactions(20)
        producer.begin_transaction()
    for number in numbers:
        headers: list[tuple[str, str | bytes | None]] = [("h", b"1"), ("h", None), ("n", b"%d" % number)]
        value = None if number % 10 == 9 else b"%d" % number
        producer.produce(
            topic, value, b"key-%d" % number, number % partitions, timestamp=1000 + number, headers=headers
        )
    producer.flush(20)
    if commit is not None:
        (producer.commit_transaction if commit else producer.abort_transaction)(20)


@contextlib.contextmanager
def reading(
    node: BarnabasNode, split: str, position: Position | None = None, **options: Value
) -> Iterator[KafkaReader]:
    source = KafkaSource("copy", {"bootstrap": node.bootstrap, "topics": [split.rpartition(":")[0]], **options})
    reader = source.open(split, json.loads(json.dumps(position)))
    try:
        yield reader
    finally:
        reader.close()
        source.close()


def take(reader: KafkaReader, count: int, most: int = 100) -> tuple[list[Record], Position]:
    records: list[Record] = []
    position: Position = {}

    def enough() -> bool:
        nonlocal position
        chunk = reader.read(most, 0.2)
        if chunk is not None:
            records.extend(chunk.records)
            position = json.loads(json.dumps(chunk.position))
        return len(records) >= count

    until(enough, f"{count} records", 20)
    return records, position


def keys(records: Sequence[Record]) -> list[int]:
    return [int(record.key[4:]) for record in records]


def test_records_as_they_are(there: BarnabasNode) -> None:
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


def test_every_record_once_over_restarts(there: BarnabasNode) -> None:
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


def test_partitions_share_a_consumer(there: BarnabasNode, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_start_at_the_end(there: BarnabasNode) -> None:
    topic = made(there)
    produce(there, topic, range(10))
    with reading(there, f"{topic}:0", start="latest") as reader:
        assert reader.read(1, 0.2) is None
        produce(there, topic, range(10, 12))
        assert keys(take(reader, 2)[0]) == [10, 11]


def test_offsets_that_are_gone(there: BarnabasNode) -> None:
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


def test_a_node_that_is_killed(tmp_path: Path) -> None:
    with BarnabasNode(tmp_path) as node:
        assert isinstance(node, BarnabasNode)
        topic = made(node)
        produce(node, topic, range(10))
        with reading(node, f"{topic}:0") as reader, writing(node, "w") as writer:
            records, position = take(reader, 10)
            writer.write(numbered(0, 5, topic=topic), 5)
            node.kill()
            until(lambda: _fails(lambda: reader.read(1, 0.2)), "the reader to notice", 20)
            with pytest.raises(Unavailable, match=rf"{node.bootstrap}"):
                KafkaSource("x", {"bootstrap": node.bootstrap, "topics": [topic]}).splits()
            node.start()
            with reading(node, f"{topic}:0", position) as again:
                assert len(take(again, 5)[0]) == 5
            assert keys(records) == list(range(10))
        with writing(node, "w") as writer:
            assert writer.next_offset() == 5


def _fails(work: object) -> bool:
    try:
        assert callable(work)
        work()
    except Unavailable:
        return True
    return False


@contextlib.contextmanager
def writing(node: BarnabasNode, name: str, **options: Value) -> Iterator[KafkaWriter]:
    writer = KafkaSink(name, {"bootstrap": node.bootstrap, **options}).open("orders", 0)
    try:
        yield writer
    finally:
        writer.close()


def written_there(node: BarnabasNode, topic: str) -> list[Message]:
    return all_records(node.bootstrap, topic)


def test_sink_once_over_crashes(there: BarnabasNode) -> None:
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


def test_sink_keeps_what_a_record_has(there: BarnabasNode) -> None:
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


def test_sink_refuses_what_is_too_large(there: BarnabasNode) -> None:
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


def test_sink_reset(there: BarnabasNode) -> None:
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


@pytest.mark.long
def test_from_cluster_to_cluster_by_a_worker(here: BarnabasNode, there: BarnabasNode, tmp_path: Path) -> None:
    """The definition of the page, both ways, with a worker that is killed in between."""
    topic = made(there, 2)
    produce(there, topic, range(300), 2)
    definitions = written(
        tmp_path / "copy.yaml",
        f"""
        name: in-{topic}
        from: {{kafka: {{bootstrap: "{there.bootstrap}", topics: [{topic}]}}}}
        to: {{topic: {topic}}}
        ---
        name: out-{topic}
        from: {{topics: [{topic}], format: bytes, key_format: bytes}}
        to: {{kafka: {{bootstrap: "{there.bootstrap}", topic: "back-{{topic}}"}}}}
        """,
    )
    made(here, 2, topic)
    made(there, 2, f"back-{topic}")
    worker = ConnectWorker(here.bootstrap, tmp_path / "worker.log", definitions)
    with running(worker):
        until(lambda: len(written_there(there, f"back-{topic}")) > 50, "records that came back", 60)
        worker.kill()
        produce(there, topic, range(300, 400), 2)
    with running(worker):
        until(lambda: len(written_there(there, f"back-{topic}")) >= 400, "all records", 60)
    for node, name in ((here, topic), (there, f"back-{topic}")):
        found = [int((message.key() or b"")[4:]) for message in all_records(node.bootstrap, name)]
        assert sorted(found) == list(range(400))


def test_logins_and_addresses(there: BarnabasNode) -> None:
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

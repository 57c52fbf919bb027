"""Source and sink by STOMP over a socket: what is acknowledged when, and what comes once over ends of all kinds.
tests/connect/jms has the same with a real ActiveMQ Artemis."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from barnabas.connect.connectors.jms import connection as jms_connection
from barnabas.connect.connectors.jms import sink as jms_sink
from barnabas.connect.connectors.jms import source as jms_source
from barnabas.connect.connectors.jms.sink import JmsSink
from barnabas.connect.connectors.jms.source import JmsReader, JmsSource
from barnabas.connect.contract import Delivered, Position, Record, Rejected, Value
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.model.readiness import readable
from tests.support.delivered import delivered
from tests.support.fake_stomp import FakeStomp
from tests.support.members import until

PASSWORD = "not-to-be-shown"


@pytest.fixture
def broker() -> Iterator[FakeStomp]:
    with FakeStomp() as made:
        yield made


@contextlib.contextmanager
def reading(broker: FakeStomp, position: Position | None = None, **options: Value) -> Iterator[JmsReader]:
    source = JmsSource("reader", {"url": broker.url, "queues": ["orders"], **options})
    reader = source.open(source.splits()[0], json.loads(json.dumps(position)))
    assert isinstance(reader, JmsReader)
    try:
        yield reader
    finally:
        reader.close()


def send(broker: FakeStomp, records: Sequence[Delivered], **options: Value) -> Sequence[Rejected]:
    writer = JmsSink("writer", {"url": broker.url, "queue": "orders", **options}).open("orders", 0)
    try:
        return writer.write(records, records[-1].offset + 1)
    finally:
        writer.close()


def numbers(first: int, end: int) -> list[Delivered]:
    return [delivered(offset, {"n": offset}, f"key-{offset % 3}") for offset in range(first, end)]


def take(reader: JmsReader, count: int, most: int = 100) -> tuple[list[Record], Position]:
    """Read, and not committed."""
    records: list[Record] = []
    position: Position = {}

    def enough() -> bool:
        nonlocal position
        chunk = reader.read(most, 0.1)
        if chunk is not None:
            records.extend(chunk.records)
            position = json.loads(json.dumps(chunk.position))
        return len(records) >= count

    until(enough, f"{count} messages", 10)
    return records, position


def counted(records: Sequence[Record]) -> list[int]:
    return [json.loads(record.value)["n"] for record in records]


def test_what_a_message_has_is_in_the_record(broker: FakeStomp) -> None:
    broker.put("orders", b"\0\xff", region="north:1\n", correlation_id="17")
    with reading(broker, key="region", selector="n > 1") as reader:
        (record,), _ = take(reader, 1)
    assert (record.value, record.key, record.timestamp_ms) == (b"\0\xff", "north:1\n", 1_700_000_000_000)
    headers = dict(record.headers)
    assert headers["correlation-id"] == b"17" and headers["destination"] == b"orders"
    assert not {"ack", "subscription", "content-length"} & set(headers)
    subscribed = next(each.headers for each in broker.asked if each.command == "SUBSCRIBE")
    assert (subscribed["ack"], subscribed["selector"]) == ("client-individual", "n > 1")
    assert subscribed["subscription-type"] == "ANYCAST"


def test_a_message_is_acknowledged_when_it_is_committed(broker: FakeStomp) -> None:
    send(broker, numbers(0, 10))
    with reading(broker) as reader:
        _, position = take(reader, 10)
        assert "ACK" not in broker.names()
        reader.committed(position)
        until(lambda: broker.names().count("ACK") == 10, "all are acknowledged")
        receipts = [each.headers.get("receipt") for each in broker.asked if each.command == "ACK"]
        assert receipts == [None] * 9 + ["ack-10"]  # the last confirms all of them
    with reading(broker, position) as reader:
        assert reader.read(10, 0.1) is None


def test_every_message_once_over_ends_of_all_kinds(broker: FakeStomp) -> None:
    """Readers that end before they committed, after they committed and before the broker knows, or in good order."""
    send(broker, numbers(0, 300))
    got: list[Record] = []
    position: Position | None = None
    for number in range(100):
        if len(got) >= 300:
            break
        with reading(broker, position) as reader:
            records, position = take(reader, 1, most=17)
            got += records
            if number % 3:
                reader.committed(position)
            if number % 3 == 1:
                reader._connection._socket.close()  # with what is on its way
            elif number % 3 == 2:
                reader.read(50, 0.01)  # not committed
    assert sorted(counted(got)) == list(range(300))


def test_what_is_sent_again_after_a_crash_is_there_once(broker: FakeStomp) -> None:
    send(broker, numbers(0, 10))
    send(broker, numbers(5, 15))
    with reading(broker) as reader:
        assert counted(take(reader, 15)[0]) == list(range(15))


def test_what_the_sink_sends(broker: FakeStomp) -> None:
    headers = [("trace", b"1:2"), ("destination", b"elsewhere"), ("raw", b"\xff")]
    records = [delivered(0, {"a": 1}, "k", headers=headers), delivered(1, b"\0\xff", "k"), delivered(2, None, "k")]
    assert send(broker, records, group="{key}", expires_s=60, queue="{topic}.sent") == []
    first, second, third = broker.queues["orders.sent"].waiting
    assert (first.body, first.is_text, first.headers["trace"]) == (b'{"a":1}', True, "1:2")
    assert (second.body, second.is_text, third.body) == (b"\0\xff", False, b"")
    assert (first.headers["destination"], first.headers["JMSXGroupID"]) == ("orders.sent", "k")
    assert first.headers["destination-type"] == "ANYCAST" and first.headers["persistent"] == "true"
    assert int(first.headers["expires"]) > time.time() * 1000
    assert send(broker, [delivered(3, "x", headers=headers)], topic="news", queue="", headers=False) == []
    (news,) = broker.queues["news"].waiting
    assert news.headers["destination-type"] == "MULTICAST" and "trace" not in news.headers


def test_a_batch_is_written_when_every_message_is_confirmed(broker: FakeStomp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jms_sink, "_IN_FLIGHT", 10)
    assert send(broker, numbers(0, 35)) == []
    assert len(broker.queues["orders"].waiting) == 35
    broker.gives_receipts = False
    monkeypatch.setattr(jms_sink, "ANSWER_S", 0.0)
    with pytest.raises(Unavailable, match="has not confirmed 10 messages in 0 s"):
        send(broker, numbers(35, 70))


def test_records_that_cannot_be_sent(broker: FakeStomp) -> None:
    records = [delivered(0, b"x" * 2000), delivered(1, "a\0b"), delivered(2, {1j: 2}), delivered(3, "good")]
    rejected = send(broker, records, max_bytes=1000)
    assert [each.record.offset for each in rejected] == [0, 1, 2]
    assert rejected[0].reason == "a message of 2000 bytes is larger than max_bytes, 1000"
    assert "null character" in rejected[1].reason
    assert [each.body for each in broker.queues["orders"].waiting] == [b"good"]
    assert send(broker, [delivered(4, b"a\0b")], message="text")[0].reason.startswith("text with a null character")


def test_a_message_that_is_too_large_stops_the_reader_and_stays(broker: FakeStomp) -> None:
    broker.put("orders", b"small")
    broker.put("orders", b"x" * 5000)
    with reading(broker, max_bytes=1000) as reader:
        assert [each.value for each in take(reader, 1)[0]] == [b"small"]
        with pytest.raises(Unavailable, match=r"of 5000 bytes .* is larger than max_bytes, 1000. Raise max_bytes"):
            until(lambda: reader.read(10, 0.1) is not None, "an error")
    with reading(broker) as reader:
        assert [len(each.value) for each in take(reader, 2)[0]] == [5, 5000]


def test_a_position_has_bounds(broker: FakeStomp, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading goes on when the broker has confirmed."""
    monkeypatch.setattr(jms_source, "UNCONFIRMED_MAX", 20)
    send(broker, numbers(0, 50))
    with reading(broker, remember=5) as reader:
        first, position = take(reader, 20)
        assert len(position["marks"]) == 20
        assert reader.read(10, 0.1) is None
        reader.committed(position)
        second, position = take(reader, 20)
        assert len(position["marks"]) == 25
        reader.committed(position)
        assert counted(first + second + take(reader, 10)[0]) == list(range(50))


def test_what_a_killed_reader_had_is_known_for_a_while(broker: FakeStomp, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many new messages come before it; then it counts as any other that was read."""
    send(broker, numbers(0, 30))
    with reading(broker, remember=5) as reader:
        had, position = take(reader, 30)  # committed, and ended before the broker heard of it
        reader._connection._socket.close()
    with reading(broker, position, remember=5) as reader:
        assert len(reader._held) == 30
        assert reader.read(50, 0.2) is None  # all of them came again, and were dropped
        send(broker, numbers(30, 60))
        rest, position = take(reader, 30)
        assert counted(had + rest) == list(range(60))
        reader._held_until = time.monotonic()
        send(broker, numbers(60, 61))
        _, position = take(reader, 1)
        assert reader._held == {} and position["held"] == 0


def test_topics_and_durable_subscriptions(broker: FakeStomp) -> None:
    durable: dict[str, Value] = {"queues": [], "topics": ["news"], "subscription": "archive"}
    assert JmsSource("x", {"url": broker.url, **durable}).exactly_once
    assert not JmsSource("x", {"url": broker.url, "topics": ["news"]}).exactly_once
    with reading(broker, **durable) as reader:
        send(broker, numbers(0, 2), queue="", topic="news")
        assert counted(take(reader, 2)[0]) == [0, 1]
    connected, subscribed = (
        next(each.headers for each in broker.asked if each.command == command) for command in ("CONNECT", "SUBSCRIBE")
    )
    assert connected["client-id"] == "barnabas-reader"
    assert subscribed["subscription-type"] == "MULTICAST"
    assert subscribed["durable-subscription-name"] == subscribed["activemq.subscriptionName"] == "archive"


def test_a_broker_that_goes_away(broker: FakeStomp) -> None:
    writer = JmsSink("writer", {"url": broker.url, "queue": "orders"}).open("orders", 0)
    with reading(broker) as reader:
        broker.hang_up()
        with pytest.raises(Unavailable, match=r"connection to JMS broker 127\.0\.0\.1:\d+ lost"):
            until(lambda: reader.read(1, 0.1) is not None, "an error")
        with pytest.raises(Unavailable, match=r"connection to JMS broker .* lost"):
            writer.write(numbers(0, 10), 10)
            writer.write(numbers(0, 10), 10)
        reader.committed({"count": 0})
    writer.close()
    broker.close()
    with pytest.raises(Unavailable, match=r"cannot be reached: Connection refused. Is it running"):
        send(broker, numbers(0, 1))


def test_what_a_broker_says_comes_to_the_person(broker: FakeStomp) -> None:
    broker.error = "AMQ229032: User: guest does not have\n permission='SEND'"
    with pytest.raises(Unavailable, match="says: AMQ229032: User: guest does not have permission='SEND'"):
        send(broker, numbers(0, 1))
    broker.error = "no such address"
    with pytest.raises(Unavailable, match="says: no such address"), reading(broker):
        pass


def test_logins() -> None:
    with FakeStomp(login=("ann", PASSWORD)) as broker:
        for wrong in ({"username": "ann", "password": "wrong-pw"}, {"username": "nobody"}, {}):
            with pytest.raises(Unavailable, match=r"does not take the login: .*is invalid") as refused:
                send(broker, numbers(0, 1), **wrong)
            assert PASSWORD not in str(refused.value) and "wrong-pw" not in str(refused.value)
        assert send(broker, numbers(0, 1), username="ann", password=PASSWORD) == []
        assert send(broker, numbers(1, 2), url=broker.url.replace("//", f"//ann:{PASSWORD}@")) == []
        with pytest.raises(Unavailable, match="have a line break in them"):
            send(broker, numbers(0, 1), username="ann\nx", password=PASSWORD)


def test_heart_beats_are_sent_and_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that is silent for three times as long as it promised is gone; one that only nobody has read is not."""
    monkeypatch.setattr(jms_connection, "_BEAT_MS", 40)
    with FakeStomp(heart_beat="40,40") as broker, reading(broker) as reader:
        reader.read(1, 0.05)
        time.sleep(0.2)
        broker.put("orders", b'{"n": 1}')
        until(lambda: readable(reader._connection._socket), "it is in the socket")
        assert counted(take(reader, 1)[0]) == [1]
        with pytest.raises(Unavailable, match="the broker is silent"):
            until(lambda: reader.read(1, 0.05) is not None, "an error", 5)
        assert broker.beats > 0


def test_a_broker_that_does_not_answer(broker: FakeStomp, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.answers_connect = False
    monkeypatch.setattr(jms_connection, "ANSWER_S", 0.1)
    with pytest.raises(Unavailable, match="does not answer as STOMP does: no answer"):
        send(broker, numbers(0, 1))


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"\x00" * 100, b"RECEIPT\nreceipt-id:1\n\n\0"]
)
def test_a_server_that_is_no_broker(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        source = JmsSource("x", {"url": f"stomp://127.0.0.1:{server.getsockname()[1]}", "queues": ["a"]})
        with pytest.raises(Unavailable, match="JMS broker"):
            source.open("queue:a", None)
        thread.join()


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        (JmsSource, {"url": f"tcp://u:{PASSWORD}@h", "queues": ["a"]}, "Write it as stomp://HOST:61613"),
        (JmsSource, {"url": "stomp://h:port", "queues": ["a"]}, "Write it as stomp://HOST:61613"),
        (JmsSource, {"url": "stomp://h"}, "one of the options 'queues' and 'topics'"),
        (JmsSource, {"url": "stomp://h", "queue": "a"}, "did you mean 'queues'"),
        (JmsSource, {"url": "stomp://h", "queues": ["a"], "remember": -1}, "remember"),
        (JmsSource, {"url": "stomp://h", "queues": ["a"], "window_bytes": 1}, "window_bytes"),
        (JmsSource, {"url": "stomp://h", "topics": ["a", "b"], "subscription": "s"}, "is for one topic"),
        (JmsSource, {"url": "stomp://h", "queues": ["a"], "ca_file": "x"}, "Write stomps://"),
        (JmsSink, {"url": "stomp://h"}, "one of the options 'queue' and 'topic'"),
        (JmsSink, {"url": "stomp://h", "queue": "{value}"}, "{value} is not known"),
        (JmsSink, {"url": "stomp://h", "queue": "a", "max_bytes": 0}, "max_bytes"),
    ],
)
def test_options_that_cannot_be_right(kind: type[JmsSource | JmsSink], options: dict[str, Value], said: str) -> None:
    with pytest.raises(BadOption, match=said) as bad:
        kind("x", options)
    assert PASSWORD not in str(bad.value)


def test_certificates_that_cannot_be_read() -> None:
    options = {"url": "stomps://127.0.0.1:1", "queue": "a", "ca_file": "/missing"}
    with pytest.raises(Unavailable, match="certificates cannot be read"):
        JmsSink("x", options).open("orders", 0)

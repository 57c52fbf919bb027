"""Source and sink against a real ActiveMQ Artemis, with stomp.py as a client that is not ours. What needs no broker is
in tests/unit/connect/jms."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import stomp

from barnabas.connect.connectors.jms import source as jms_source
from barnabas.connect.connectors.jms.sink import JmsSink, JmsWriter
from barnabas.connect.connectors.jms.source import JmsReader, JmsSource
from barnabas.connect.contract import Delivered, Position, Record, Rejected, Value
from barnabas.connect.errors import Unavailable
from tests.support.artemis import PASSWORD, USER, Artemis
from tests.support.certificates import Authority, Certificate
from tests.support.delivered import delivered
from tests.support.members import until


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Artemis]:
    certificate: Certificate = authority.issue("broker")
    with Artemis(tmp_path_factory.mktemp("artemis"), certificate) as server:
        assert isinstance(server, Artemis)
        yield server


def login(broker: Artemis, **options: Value) -> dict[str, Value]:
    return {"url": broker.url, "username": USER, "password": PASSWORD, **options}


@contextlib.contextmanager
def reading(broker: Artemis, position: Position | None = None, **options: Value) -> Iterator[JmsReader]:
    source = JmsSource("reader", login(broker, **options))
    reader = source.open(source.splits()[0], json.loads(json.dumps(position)))
    assert isinstance(reader, JmsReader)
    try:
        yield reader
    finally:
        reader.close()


@contextlib.contextmanager
def writing(broker: Artemis, **options: Value) -> Iterator[JmsWriter]:
    writer = JmsSink("writer", login(broker, **options)).open("orders", 0)
    assert isinstance(writer, JmsWriter)
    try:
        yield writer
    finally:
        writer.close()


def send(broker: Artemis, records: Sequence[Delivered], **options: Value) -> Sequence[Rejected]:
    with writing(broker, **options) as writer:
        assert writer.next_offset() is None
        return writer.write(records, records[-1].offset + 1)


def numbers(first: int, end: int) -> list[Delivered]:
    return [delivered(offset, {"n": offset}, f"key-{offset % 3}") for offset in range(first, end)]


def take(reader: JmsReader, count: int, most: int = 100) -> tuple[list[Record], Position]:
    """Read, and not committed."""
    records: list[Record] = []
    position: Position = {}

    def enough() -> bool:
        nonlocal position
        chunk = reader.read(most, 0.2)
        if chunk is not None:
            records.extend(chunk.records)
            position = json.loads(json.dumps(chunk.position))
        return len(records) >= count

    until(enough, f"{count} messages", 30)
    return records, position


def counted(records: Sequence[Record]) -> list[int]:
    return [json.loads(record.value)["n"] for record in records]


class Client(stomp.ConnectionListener):  # type: ignore[misc]  # stomp.py has no types
    """stomp.py: what others send and receive."""

    def __init__(self, broker: Artemis) -> None:
        self.received: list[tuple[Mapping[str, str], str]] = []
        self.connection = stomp.Connection12([("127.0.0.1", broker.port)])
        self.connection.set_listener("", self)
        self.connection.connect(USER, PASSWORD, wait=True)

    def on_message(self, frame: stomp.utils.Frame) -> None:
        self.received.append((frame.headers, frame.body))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.disconnect()


def test_from_and_to_other_clients(broker: Artemis) -> None:
    with Client(broker) as client, reading(broker, queues=["others"], key="region") as reader:
        properties = {
            "destination-type": "ANYCAST",
            "region": "north:1\n",
            "persistent": "true",
            "correlation-id": "17",
        }
        client.connection.send("others", "größer", headers=properties)
        (record,), position = take(reader, 1)
        reader.committed(position)
        assert (record.value, record.key) == ("größer".encode(), "north:1\n")
        headers = dict(record.headers)
        assert headers["correlation-id"] == b"17"
        assert headers["destination"] == b"others"
        assert not {"ack", "subscription", "content-length"} & set(headers)
        assert record.timestamp_ms is not None
        client.connection.subscribe("sent", id="1", ack="auto", headers={"subscription-type": "ANYCAST"})
        records = [
            delivered(0, {"a": 1}, "k", headers=[("trace", b"1:2"), ("destination", b"elsewhere")]),
            delivered(1, "text", "k"),
            delivered(2, None, "k"),
        ]
        assert send(broker, records, queue="sent", group="{key}") == []
        until(lambda: len(client.received) == 3, "what was sent")
        assert [body for _, body in client.received] == ['{"a":1}', "text", ""]
        first = client.received[0][0]
        assert (first["destination"], first["trace"], first["_AMQ_GROUP_ID"]) == ("sent", "1:2", "k")


def test_many_messages_once_over_crashes(broker: Artemis) -> None:
    """Readers that end before they committed, after they committed and before the broker knows, or in good order."""
    total = 1500
    send(broker, numbers(0, total), queue="many")
    got: list[Record] = []
    position: Position | None = None
    resets = 2  # after each, Artemis may take ten seconds to notice that nobody has what it has sent
    for number in range(1000):
        if len(got) >= total:
            break
        with reading(broker, position, queues=["many"]) as reader:
            for _ in range(3):
                records, position = take(reader, 1, most=73)
                got += records
                if number % 3 != 1:
                    reader.committed(position)
                if len(got) >= total:
                    break
            if number % 3 == 0:
                reader.read(50, 0.2)  # not committed
            if number % 3 == 2 and resets:
                resets -= 1
                reader._connection._socket.close()  # with what is on its way
    # What comes again after a crash comes behind what was on its way: each once, not all in order.
    assert sorted(counted(got)) == list(range(total))
    with reading(broker, position, queues=["many"]) as reader:
        assert reader.read(10, 0.3) is None


def test_a_broker_that_is_killed(tmp_path: Path) -> None:
    with Artemis(tmp_path) as broker:
        assert isinstance(broker, Artemis)
        with writing(broker, queue="orders") as writer:
            writer.write(numbers(0, 10), 10)
            with reading(broker, queues=["orders"]) as reader:
                first, position = take(reader, 10)  # committed, and the broker is killed before it knows
                broker.kill()
                with pytest.raises(Unavailable, match="lost"):
                    until(lambda: reader.read(1, 0.1) is not None, "nothing")
            with pytest.raises(Unavailable, match=r"connection to JMS broker .* lost"):
                writer.write(numbers(5, 15), 15)
        with pytest.raises(Unavailable, match=r"cannot be reached: Connection refused"):
            send(broker, numbers(5, 15), queue="orders")
        broker.start()
        send(broker, numbers(5, 15), queue="orders")  # overlaps: Artemis drops what it has
        with reading(broker, position, queues=["orders"]) as reader:
            rest, position = take(reader, 5)
            reader.committed(position)
            assert counted(first + rest) == list(range(15))
            assert reader.read(1, 0.3) is None


def test_topics(broker: Artemis) -> None:
    durable: dict[str, Value] = {"topics": ["news"], "subscription": "archive"}
    assert JmsSource("x", login(broker, **durable)).exactly_once
    assert not JmsSource("x", login(broker, topics=["news"])).exactly_once
    with reading(broker, **durable) as reader, reading(broker, topics=["news"], selector="n > 1") as other:
        send(broker, [delivered(1, {"n": 1}, headers=[("n", b"1")])], topic="news")
        assert counted(take(reader, 1)[0]) == [1]
        assert other.read(1, 0.2) is None
    send(broker, numbers(2, 3), topic="news")  # while nobody is there
    with reading(broker, **durable) as reader:
        # The first one is given back when the broker sees that its reader has gone, perhaps after the second has come.
        assert sorted(counted(take(reader, 2)[0])) == [1, 2]


def test_a_window_of_messages_that_are_not_confirmed(broker: Artemis, monkeypatch: pytest.MonkeyPatch) -> None:
    """A position has bounds: reading goes on when the broker has confirmed."""
    monkeypatch.setattr(jms_source, "UNCONFIRMED_MAX", 20)
    send(broker, numbers(0, 50), queue="bounded")
    with reading(broker, queues=["bounded"], remember=5) as reader:
        first, position = take(reader, 20)
        assert len(first) == 20
        assert len(position["marks"]) == 20
        assert reader.read(10, 0.2) is None
        reader.committed(position)
        second, position = take(reader, 20)
        assert len(position["marks"]) == 25
        reader.committed(position)
        assert counted(first + second + take(reader, 10)[0]) == list(range(50))


def test_what_a_killed_reader_had_comes_after_new_messages(broker: Artemis) -> None:
    """A broker that notices late that a reader is gone gives others new messages first, more than are remembered."""
    send(broker, numbers(0, 30), queue="late")
    with reading(broker, queues=["late"], remember=5) as first:
        had, position = take(first, 30)  # committed, and ended before the broker heard of it
        with reading(broker, position, queues=["late"], remember=5) as second:
            send(broker, numbers(30, 230), queue="late")  # about half of them for each
            got: list[Record] = []
            while len(got) < 50:
                records, position = take(second, 1, most=20)
                second.committed(position)
                got += records
            first._connection._socket.close()

            def all_there() -> bool:
                nonlocal position
                if (chunk := second.read(50, 0.2)) is not None:
                    got.extend(chunk.records)
                    position = json.loads(json.dumps(chunk.position))
                    second.committed(position)
                return len(got) >= 200

            until(all_there, "the other half", 60)
            assert second.read(50, 1) is None
            assert sorted(counted(had + got)) == list(range(230))
        with reading(broker, position, queues=["late"], remember=5) as third:  # over another reader, too
            assert third.read(50, 0.5) is None
            assert len(third._held) >= 30


def test_messages_that_are_too_large(broker: Artemis) -> None:
    large = [
        delivered(0, b"x" * 5000),
        delivered(1, b"\0\xff" * 100),
        delivered(2, "a\0b"),
        delivered(3, {1j: 2}),
        delivered(4),
    ]
    rejected = send(broker, large, queue="large", max_bytes=1000)
    assert [(each.record.offset, each.reason.split(",")[0][:40]) for each in rejected] == [
        (0, "a message of 5000 bytes is larger than m"),
        (2, "text with a null character in it cannot "),
        (3, rejected[2].reason[:40]),
    ]
    send(broker, large[:1], queue="large")
    with reading(broker, queues=["large"], max_bytes=1000) as reader:
        assert [record.value for record in take(reader, 2, most=2)[0]] == [b"\0\xff" * 100, b""]
        with pytest.raises(Unavailable, match=r"of 5000 bytes .* larger than max_bytes, 1000. Raise max_bytes"):
            reader.read(10, 5)
    with reading(broker, queues=["large"]) as reader:  # it was not lost
        assert [len(record.value) for record in take(reader, 3)[0]] == [200, 0, 5000]


def test_logins(broker: Artemis) -> None:
    for wrong in ({"password": "wrong-pw"}, {"username": "nobody"}, {"username": "", "password": ""}):
        with pytest.raises(Unavailable, match="does not take the login") as refused:
            JmsSource("x", login(broker, queues=["a"], **wrong)).open("queue:a", None)
        assert PASSWORD not in str(refused.value)
        assert "wrong-pw" not in str(refused.value)
    guest = {"username": "guest", "password": "guest-pw"}
    with pytest.raises(Unavailable, match=r"says: .*guest does not have permission='SEND'|CREATE"):
        send(broker, numbers(0, 1), queue="secret", **guest)
    with pytest.raises(Unavailable, match="says: "):
        JmsSource("x", login(broker, queues=["secret"], **guest)).open("queue:secret", None)
    url = broker.url.replace("://", f"://{USER}:{PASSWORD}@")
    reader = JmsSource("x", {"url": url, "queues": ["a"]}).open("queue:a", None)
    reader.close()


def test_tls(broker: Artemis, authority: Authority) -> None:
    url = f"stomps://127.0.0.1:{broker.tls_port}"
    options: dict[str, Value] = {"url": url, "ca_file": str(authority.file)}
    assert send(broker, numbers(0, 20), queue="tls", **options) == []
    with reading(broker, queues=["tls"], **options) as reader:
        assert counted(take(reader, 20)[0]) == list(range(20))
    with pytest.raises(Unavailable, match="certificate verify failed"):
        send(broker, numbers(0, 1), queue="tls", url=url)
    with pytest.raises(Unavailable, match="certificates cannot be read"):
        send(broker, numbers(0, 1), queue="tls", url=url, ca_file="/missing")

"""Source and sink against a real mosquitto, by both versions of the protocol. What needs no broker is in
tests/unit/connect/mqtt."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from barnabas.connect.connectors.mqtt.sink import MqttSink
from barnabas.connect.connectors.mqtt.source import MqttReader, MqttSource
from barnabas.connect.contract import Delivered, Position, Reader, Record, Rejected, Value
from barnabas.connect.errors import Unavailable
from tests.support.certificates import Authority
from tests.support.delivered import delivered
from tests.support.members import until
from tests.support.mosquitto import Mosquitto
from tests.support.process import free_port

PASSWORD = "not-to-be-shown"
VERSIONS = ("5", "3.1.1")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    with Mosquitto(tmp_path_factory.mktemp("mosquitto")) as server:
        assert isinstance(server, Mosquitto)
        yield server


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextlib.contextmanager
def reading(url: str, name: str, position: Position | None = None, **options: Value) -> Iterator[Reader]:
    source = MqttSource(name, {"url": url, "topics": [f"{name}/#"], **options})
    assert source.splits() == ["messages"]
    reader = source.open("messages", json.loads(json.dumps(position)))
    try:
        yield reader
    finally:
        reader.close()


def publish(url: str, topic: str, records: Sequence[Delivered], **options: Value) -> Sequence[Rejected]:
    sink = MqttSink("publisher", {"url": url, "topic": topic, **options})
    writer = sink.open("orders", 0)
    try:
        assert writer.next_offset() is None
        return writer.write(records, records[-1].offset + 1)
    finally:
        writer.close()


def numbers(first: int, end: int) -> list[Delivered]:
    return [delivered(offset, {"n": offset}, f"device-{offset % 3}") for offset in range(first, end)]


def take(reader: Reader, count: int, most: int = 100) -> tuple[list[Record], Position]:
    """Read, and not committed."""
    records: list[Record] = []
    position: Position = {}

    def enough() -> bool:
        nonlocal position
        chunk = reader.read(most, 0.2)
        if chunk is not None:
            records.extend(chunk.records)
            position = chunk.position
        return len(records) >= count

    until(enough, f"{count} messages", 15)
    return records, position


def counted(records: Sequence[Record]) -> list[int]:
    return [json.loads(record.value)["n"] for record in records]


def test_there_and_back(broker: Mosquitto, version: str) -> None:
    name = f"back{version[0]}"
    with reading(broker.url, name, version=version) as reader:
        headers = [("trace", b"17"), ("raw", b"\xff")]
        many = [delivered(number, {"n": number}, "device-1", headers=headers) for number in range(2000)]
        assert publish(broker.url, name + "/{key}/{topic}", many, version=version) == []
        got: list[Record] = []
        while len(got) < 2000:
            records, position = take(reader, 1)
            got += records
            reader.committed(position)
        assert counted(got) == list(range(2000))
        assert got[0].key == f"{name}/device-1/orders"
        expected = [("mqtt.topic", got[0].key.encode())] + ([("trace", b"17")] if version == "5" else [])
        assert list(got[0].headers) == expected
        assert reader.read(10, 0.1) is None


def test_what_was_not_committed_comes_again(broker: Mosquitto, version: str) -> None:
    name = f"again{version[0]}"
    with reading(broker.url, name, version=version) as reader:
        publish(broker.url, name + "/{key}", numbers(0, 15), version=version)
        first, position = take(reader, 10, most=10)
        reader.committed(position)
        take(reader, 5)  # and the worker ends
    publish(broker.url, name + "/{key}", numbers(15, 20), version=version)  # while nobody is there
    with reading(broker.url, name, position, version=version) as reader:
        rest, position = take(reader, 10)
        assert counted(first + rest) == list(range(20))
        assert position["count"] == 20
        reader.committed(position)
    with reading(broker.url, name, position, version=version) as reader:
        assert reader.read(10, 0.2) is None


def test_a_broker_that_is_killed(tmp_path: Path, version: str) -> None:
    with Mosquitto(tmp_path) as broker:
        assert isinstance(broker, Mosquitto)
        with reading(broker.url, "sensor", version=version) as reader:
            publish(broker.url, "sensor/{key}", numbers(0, 5), version=version)
            records, position = take(reader, 5)
            broker.save()
            broker.kill()
            until(lambda: _fails(reader), "the reader to notice")
        with pytest.raises(
            Unavailable, match=f"MQTT broker 127.0.0.1:{broker.port} cannot be reached: Connection refused"
        ):
            publish(broker.url, "sensor/{key}", numbers(0, 1), version=version)
        broker.start()
        publish(broker.url, "sensor/{key}", numbers(5, 8), version=version)
        with reading(broker.url, "sensor", position, version=version) as reader:
            again, position = take(reader, 8)
            reader.committed(position)
            assert counted(again) == list(range(8))  # the first five came twice: they were not acknowledged
            assert counted(records) == list(range(5))


def _fails(reader: Reader) -> bool:
    try:
        reader.read(10, 0.1)
    except Unavailable as problem:
        assert "lost" in str(problem)
        return True
    return False


def test_a_second_reader_takes_over(broker: Mosquitto) -> None:
    with reading(broker.url, "twice") as former, reading(broker.url, "twice") as current:
        with pytest.raises(Unavailable, match=r"connection to MQTT broker .* lost"):
            while True:
                former.read(10, 1)
        publish(broker.url, "twice/{key}", numbers(0, 1))
        assert counted(take(current, 1)[0]) == [0]


def test_retained_messages(broker: Mosquitto, version: str) -> None:
    name = f"kept{version[0]}"
    publish(broker.url, name + "/{key}", [delivered(0, {"n": 0}, "a")], retain=True)
    with reading(broker.url, name, version=version) as reader:
        assert reader.read(10, 0.3) is None
    with reading(broker.url, name, version=version, client_id=f"other{name}", retained=True) as reader:
        records, position = take(reader, 1)
        assert ("mqtt.retained", b"true") in records[0].headers
        reader.committed(position)
    with reading(broker.url, name, position, version=version, client_id=f"other{name}", retained=True) as reader:
        assert reader.read(10, 0.3) is None  # once is enough
    publish(broker.url, name + "/{key}", [delivered(0, None, "a")], retain=True)  # a tombstone takes it back
    with reading(broker.url, name, version=version, client_id=f"third{name}", retained=True) as reader:
        assert reader.read(10, 0.3) is None


def test_topics_that_change(broker: Mosquitto) -> None:
    with reading(broker.url, "move", topics=["move/a"]) as reader:
        publish(broker.url, "move/a", numbers(0, 1))
        _, position = take(reader, 1)
        reader.committed(position)
    with reading(broker.url, "move", position, topics=["move/+/b"]) as reader:
        publish(broker.url, "move/a", numbers(1, 2))
        publish(broker.url, "move/x/b", numbers(2, 3))
        assert counted(take(reader, 1)[0]) == [2]
        assert reader.read(1, 0.1) is None


def test_logins(tmp_path: Path, version: str) -> None:
    access = tmp_path / "access"
    access.write_text("user sensor\ntopic readwrite mine/#\n")
    with Mosquitto(tmp_path / "broker", {"sensor": PASSWORD}, f"acl_file {access}") as broker:
        assert isinstance(broker, Mosquitto)
        login: dict[str, Value] = {"username": "sensor", "password": PASSWORD, "version": version}
        with reading(broker.url, "mine", **login) as reader:
            publish(broker.url, "mine/a", numbers(0, 1), **login)
            assert counted(take(reader, 1)[0]) == [0]
        url = broker.url.replace("://", f"://sensor:{PASSWORD}@")
        with reading(url, "mine", version=version, client_id="by-url") as reader:
            assert isinstance(reader, MqttReader)
        for wrong in ({"username": "sensor", "password": "wrong-pw"}, {}, {"username": "nobody", "password": PASSWORD}):
            source = MqttSource("mine", {"url": broker.url, "topics": ["mine"], "version": version, **wrong})
            with pytest.raises(Unavailable, match=r"refuses the login: (Not authorized|Bad user name)") as refused:
                source.open("messages", None)
            assert PASSWORD not in str(refused.value)
            assert "wrong-pw" not in str(refused.value)
        if version == "5":  # 3.1.1 has no answer for it
            with pytest.raises(Unavailable, match="does not take it: Not authorized"):
                publish(broker.url, "other/a", numbers(0, 1), **login)


# paho leaves a socket to the collector when a handshake fails.
@pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")
def test_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    server = authority.issue("broker")
    port = free_port()
    lines = f"listener {port} 127.0.0.1\ncafile {authority.file}\ncertfile {server.certificate}\nkeyfile {server.key}"
    lines += "\nrequire_certificate true"
    with Mosquitto(tmp_path / "broker", lines=lines):
        device = authority.issue("device")
        files: dict[str, Value] = {
            "ca_file": str(authority.file),
            "cert_file": str(device.certificate),
            "key_file": str(device.key),
        }
        url = f"mqtts://127.0.0.1:{port}"
        with reading(url, "tls", **files) as reader:
            publish(url, "tls/a", numbers(0, 50), **files)
            assert counted(take(reader, 50)[0]) == list(range(50))
        with pytest.raises(Unavailable, match="certificate verify failed"):
            publish(url, "tls/a", numbers(0, 1))
        with pytest.raises(Unavailable, match="certificates cannot be read"):
            publish(url, "tls/a", numbers(0, 1), ca_file=str(tmp_path / "missing"))


def test_records_that_no_broker_takes(tmp_path: Path) -> None:
    with Mosquitto(tmp_path, lines="max_packet_size 5000") as broker:
        assert isinstance(broker, Mosquitto)
        with reading(broker.url, "odd") as reader:
            records = [
                delivered(0, {"n": 0}, "a"),
                delivered(1, {"n": 1}, None),
                delivered(2, {"n": 2}, b"\xff"),
                delivered(3, {"n": 3}, "a/#"),
                delivered(4, {"n": 4, "text": "x" * 5000}, "a"),
                delivered(5, {1j: 1}, "a"),
                delivered(6, {"n": 6}, "x" * 70_000),
                delivered(7, '{"n": 7}', b"a"),
                delivered(8, b'{"n": 8}', 17),
            ]
            rejected = publish(broker.url, "odd/{key}", records)
            assert [each.record.offset for each in rejected] == [1, 2, 3, 4, 5, 6]
            assert [each.reason.split(":")[0][:50] for each in rejected][:2] == [
                "there is no key",
                "the key is no text",
            ]
            assert "larger than the 5000" in rejected[3].reason
            got = take(reader, 3)[0]
            assert counted(got) == [0, 7, 8]
            assert [record.key for record in got] == ["odd/a", "odd/a", "odd/17"]

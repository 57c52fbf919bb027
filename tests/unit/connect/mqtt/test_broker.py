"""Source and sink by MQTT over a socket, by both versions of the protocol: what is acknowledged when, and what the
broker may say. tests/connect/mqtt has the same with a real mosquitto."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import struct
import threading
from collections.abc import Iterator, Sequence

import pytest

from barnabas.connect.connectors.mqtt import connection as mqtt_connection
from barnabas.connect.connectors.mqtt import sink as mqtt_sink
from barnabas.connect.connectors.mqtt.sink import MqttSink
from barnabas.connect.connectors.mqtt.source import MqttSource
from barnabas.connect.contract import Delivered, Position, Reader, Record, Rejected, Value
from barnabas.connect.errors import BadOption, Unavailable
from tests.support.delivered import delivered
from tests.support.fake_mqtt import FakeMqtt, Published
from tests.support.members import until

PASSWORD = "not-to-be-shown"


@pytest.fixture
def broker() -> Iterator[FakeMqtt]:
    with FakeMqtt() as made:
        yield made


@pytest.fixture(params=["5", "3.1.1"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextlib.contextmanager
def reading(broker: FakeMqtt, position: Position | None = None, **options: Value) -> Iterator[Reader]:
    source = MqttSource("reader", {"url": broker.url, "topics": ["devices/#"], **options})
    assert source.splits() == ["messages"]
    reader = source.open("messages", json.loads(json.dumps(position)))
    try:
        yield reader
    finally:
        reader.close()


def publish(
    broker: FakeMqtt, records: Sequence[Delivered], topic: str = "devices/{key}", **options: Value
) -> Sequence[Rejected]:
    writer = MqttSink("publisher", {"url": broker.url, "topic": topic, **options}).open("orders", 0)
    try:
        assert writer.next_offset() is None
        return writer.write(records, records[-1].offset + 1)
    finally:
        writer.close()


def numbers(first: int, end: int) -> list[Delivered]:
    return [delivered(offset, {"n": offset}, f"d{offset % 3}") for offset in range(first, end)]


def take(reader: Reader, count: int, most: int = 100) -> tuple[list[Record], Position]:
    """Read, and not committed."""
    records: list[Record] = []
    position: Position = {}

    def enough() -> bool:
        nonlocal position
        chunk = reader.read(most, 0.1)
        if chunk is not None:
            records.extend(chunk.records)
            position = chunk.position
        return len(records) >= count

    until(enough, f"{count} messages", 10)
    return records, position


def counted(records: Sequence[Record]) -> list[int]:
    return [json.loads(record.value)["n"] for record in records]


def test_there_and_back(broker: FakeMqtt, version: str) -> None:
    with reading(broker, version=version) as reader:
        headers = [("trace", b"17"), ("raw", b"\xff")]
        many = [delivered(number, {"n": number}, "d1", headers=headers) for number in range(300)]
        assert publish(broker, many, "devices/{key}/{topic}", version=version) == []
        got, position = take(reader, 300)
        reader.committed(position)
        assert counted(got) == list(range(300))
        assert got[0].key == "devices/d1/orders"
        expected = [("mqtt.topic", b"devices/d1/orders")] + ([("trace", b"17")] if version == "5" else [])
        assert list(got[0].headers) == expected
        assert reader.read(10, 0.05) is None


def test_in_a_process_with_many_open_files(broker: FakeMqtt, version: str) -> None:
    """select() takes no descriptor from 1,024 on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    with contextlib.ExitStack() as files:
        while files.enter_context(open(os.devnull)).fileno() < 1024:
            pass
        with reading(broker, version=version) as reader:
            publish(broker, numbers(0, 3), version=version)
            assert counted(take(reader, 3)[0]) == [0, 1, 2]


def test_what_was_not_committed_comes_again(broker: FakeMqtt, version: str) -> None:
    with reading(broker, version=version) as reader:
        publish(broker, numbers(0, 15), version=version)
        first, position = take(reader, 10, most=10)
        reader.committed(position)
        take(reader, 5)  # and the worker ends
    publish(broker, numbers(15, 20), version=version)  # while nobody is there
    with reading(broker, position, version=version) as reader:
        rest, position = take(reader, 10)
        assert counted(first + rest) == list(range(20))
        assert position["count"] == 20
        reader.committed(position)
    with reading(broker, position, version=version) as reader:
        assert reader.read(10, 0.05) is None


def test_a_second_reader_takes_over(broker: FakeMqtt) -> None:
    with reading(broker) as former, reading(broker) as current:
        with pytest.raises(Unavailable, match=r"connection to MQTT broker .* lost: Session taken over"):
            while True:
                former.read(10, 1)
        publish(broker, numbers(0, 1))
        assert counted(take(current, 1)[0]) == [0]


def test_retained_messages(broker: FakeMqtt, version: str) -> None:
    publish(broker, numbers(0, 1), retain=True)
    with reading(broker, version=version) as reader:
        assert reader.read(10, 0.1) is None
    with reading(broker, version=version, client_id="other", retained=True) as reader:
        (record,), position = take(reader, 1)
        assert ("mqtt.retained", b"true") in record.headers
        reader.committed(position)
    with reading(broker, position, version=version, client_id="other", retained=True) as reader:
        assert reader.read(10, 0.1) is None  # once is enough
    publish(broker, [delivered(0, None, "d0")], retain=True)  # a tombstone takes it back
    with reading(broker, version=version, client_id="third", retained=True) as reader:
        assert reader.read(10, 0.1) is None


def test_topics_that_change(broker: FakeMqtt) -> None:
    with reading(broker, topics=["move/a"]) as reader:
        publish(broker, numbers(0, 1), "move/a")
        _, position = take(reader, 1)
        reader.committed(position)
    with reading(broker, position, topics=["move/+/b"]) as reader:
        publish(broker, numbers(1, 2), "move/a")
        publish(broker, numbers(2, 3), "move/x/b")
        assert counted(take(reader, 1)[0]) == [2]
        assert reader.read(1, 0.05) is None
    broker.refuses_filter = "secret/#"
    with pytest.raises(Unavailable, match="does not let us subscribe to 'secret/#': Not authorized"):
        MqttSource("x", {"url": broker.url, "topics": ["a", "secret/#"]}).open("messages", None)


def test_logins(version: str) -> None:
    with FakeMqtt(login=("sensor", PASSWORD)) as broker:
        login: dict[str, Value] = {"username": "sensor", "password": PASSWORD, "version": version}
        assert publish(broker, numbers(0, 1), **login) == []
        assert publish(broker, numbers(0, 1), url=broker.url.replace("//", f"//sensor:{PASSWORD}@")) == []
        for wrong in ({"username": "sensor", "password": "wrong-pw"}, {}):
            with pytest.raises(Unavailable, match=r"refuses the login: Bad user name") as refused:
                publish(broker, numbers(0, 1), version=version, **wrong)
            assert PASSWORD not in str(refused.value) and "wrong-pw" not in str(refused.value)


def test_records_that_no_broker_takes() -> None:
    with FakeMqtt(limits=b"\x27" + struct.pack(">I", 5000) + b"\x21" + struct.pack(">H", 2)) as broker:
        broker.refuses = {"devices/refused": 0x90}
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
            delivered(9, b"", "refused"),
        ]
        rejected = {each.record.offset: each.reason for each in publish(broker, records)}
        assert list(rejected) == [1, 2, 3, 4, 5, 6, 9]
        assert (rejected[1], rejected[2]) == ("there is no key", "the key is no text")
        assert "larger than the 5000" in rejected[4] and rejected[9].startswith("the MQTT broker refuses it: ")
        assert [each.topic for each in broker.published] == ["devices/a", "devices/a", "devices/17"]


def test_a_broker_that_does_not_take_it_now(broker: FakeMqtt, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.refuses = {"devices/d0": 0x97}
    with pytest.raises(Unavailable, match="does not take it: Quota exceeded"):
        publish(broker, numbers(0, 1))
    broker.refuses, broker.acknowledges = {}, False
    monkeypatch.setattr(mqtt_sink, "ANSWER_S", 0.1)
    with pytest.raises(Unavailable, match="has not acknowledged 3 messages in 0 s"):
        publish(broker, numbers(0, 3))


def test_a_broker_that_goes_away(broker: FakeMqtt, monkeypatch: pytest.MonkeyPatch) -> None:
    with reading(broker) as reader:
        broker.hang_up()
        with pytest.raises(Unavailable, match=r"connection to MQTT broker .* lost"):
            until(lambda: reader.read(10, 0.1) is not None, "an error")
    monkeypatch.setattr(mqtt_connection, "ANSWER_S", 0.2)
    broker.answers_connect = False
    with pytest.raises(Unavailable, match=r"no answer of MQTT broker .* to the connect"):
        publish(broker, numbers(0, 1))
    broker.close()
    with pytest.raises(Unavailable, match=r"MQTT broker 127\.0\.0\.1:\d+ cannot be reached: Connection refused"):
        publish(broker, numbers(0, 1))


def test_a_message_without_quality_of_service_is_a_record_too(broker: FakeMqtt) -> None:
    with reading(broker) as reader:
        broker.give(Published("devices/x", b"1", b""))
        (record,), position = take(reader, 1)
        assert (record.key, record.value) == ("devices/x", b"1")
        reader.committed(position)
        until(lambda: not broker.kept["barnabas-reader"].in_flight or reader.read(1, 0.01) is not None, "acknowledged")


def test_a_server_that_is_no_broker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        source = MqttSource("x", {"url": f"mqtt://127.0.0.1:{port}", "topics": ["#"]})

        def answer() -> None:
            connection, _ = server.accept()
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(Unavailable, match=r"MQTT broker 127\.0\.0\.1"):
            source.open("messages", None)
        thread.join()


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        (MqttSource, {"url": f"http://u:{PASSWORD}@h", "topics": ["#"]}, "Write it as mqtt://HOST:1883"),
        (MqttSource, {"url": "mqtt://h:x", "topics": ["#"]}, "Write it as mqtt://HOST:1883"),
        (MqttSource, {"url": "mqtt://h", "topics": []}, "'topics' of mqtt is empty"),
        (MqttSource, {"url": "mqtt://h", "topics": ["a/#/b"]}, "is no topic filter"),
        (MqttSource, {"url": "mqtt://h", "topics": ["a+"]}, "is no topic filter"),
        (MqttSource, {"url": "mqtt://h", "topics": ["a"], "version": "4"}, "version"),
        (MqttSource, {"url": "mqtt://h", "topics": ["a"], "ca_file": "x"}, "Write mqtts://"),
        (MqttSource, {"url": "mqtt://h", "topics": ["a"], "in_flight": 0}, "in_flight"),
        (MqttSource, {"url": "mqtt://h", "topics": ["a"], "session_expiry_s": 0}, "is not above 0"),
        (MqttSource, {"url": "mqtt://h", "topic": ["a"]}, "did you mean 'topics'"),
        (MqttSink, {"url": "mqtt://h", "topic": "a/#"}, "nothing can be published"),
        (MqttSink, {"url": "mqtt://h", "topic": "{name}"}, "{name} is not known"),
    ],
)
def test_options_that_cannot_be_right(kind: type[MqttSource | MqttSink], options: dict[str, Value], said: str) -> None:
    with pytest.raises(BadOption, match=said) as bad:
        kind("x", options)
    assert PASSWORD not in str(bad.value)


def test_certificates_that_cannot_be_read() -> None:
    options = {"url": "mqtts://127.0.0.1:1", "topic": "a", "ca_file": "/missing"}
    with pytest.raises(Unavailable, match="certificates cannot be read"):
        MqttSink("x", options).open("orders", 0)

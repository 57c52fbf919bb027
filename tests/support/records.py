"""One record as every client sees it, and six clients that write and read them: what one writes the others must
read unchanged."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.java import JavaTools
from tests.support.js import KafkaJs
from tests.support.members import QUIET


class Rec(NamedTuple):
    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = -1
    offset: int = -1


def _b64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _unb64(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def to_json(rec: Rec) -> dict[str, Any]:
    return {
        "partition": rec.partition,
        "timestamp": rec.timestamp,
        "key": _b64(rec.key),
        "value": _b64(rec.value),
        "headers": [[name, _b64(value)] for name, value in rec.headers],
    }


def from_json(node: dict[str, Any]) -> Rec:
    headers = tuple((name, _unb64(value)) for name, value in node["headers"])
    return Rec(
        node["partition"], _unb64(node["key"]), _unb64(node["value"]), headers, node["timestamp"], node["offset"]
    )


@dataclass
class Tools:
    """What the adapters need beside Python."""

    bootstrap: str
    java: JavaTools
    js: KafkaJs


# --- confluent-kafka (librdkafka)


def write_confluent(tools: Tools, topic: str, codec: str, records: Sequence[Rec]) -> None:
    from confluent_kafka import Producer

    errors: list[str] = []
    producer = Producer(
        {
            **QUIET,
            "bootstrap.servers": tools.bootstrap,
            "compression.codec": codec,
            "acks": "all",
            "linger.ms": 50,
            "message.timeout.ms": 20000,
        }
    )
    for r in records:
        producer.produce(
            topic,
            r.value,
            r.key,
            r.partition,
            timestamp=r.timestamp,
            headers=list(r.headers),
            on_delivery=lambda err, _msg: errors.append(str(err)) if err else None,
        )
    assert producer.flush(30) == 0
    assert not errors, errors[:3]


def read_confluent(tools: Tools, topic: str) -> list[Rec]:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer(
        {
            **QUIET,
            "bootstrap.servers": tools.bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    found = consumer.list_topics(topic, timeout=10).topics[topic]
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in found.partitions])
    out: list[Rec] = []
    at_end, deadline = 0, time.monotonic() + 30
    while at_end < len(found.partitions):
        assert time.monotonic() < deadline, f"{len(out)} records, {at_end} partitions at their end"
        message: Any = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            assert message.error().code() == -191, message.error()  # _PARTITION_EOF
            at_end += 1
        else:
            headers = tuple(message.headers() or ())
            out.append(
                Rec(
                    message.partition(),
                    message.key(),
                    message.value(),
                    headers,
                    message.timestamp()[1],
                    message.offset(),
                )
            )
    consumer.close()
    return out


# --- kafka-python


def write_kafka_python(tools: Tools, topic: str, codec: str, records: Sequence[Rec]) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=tools.bootstrap, compression_type=None if codec == "none" else codec, linger_ms=50, acks="all"
    )
    futures = [producer.send(topic, r.value, r.key, list(r.headers), r.partition, r.timestamp) for r in records]
    producer.flush(20)
    for future in futures:
        future.get(10)
    producer.close()


def read_kafka_python(tools: Tools, topic: str) -> list[Rec]:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=tools.bootstrap, enable_auto_commit=False, auto_offset_reset="earliest")
    partitions = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic) or ())]
    consumer.assign(partitions)
    out: list[Rec] = []
    ends, deadline = consumer.end_offsets(partitions), time.monotonic() + 30
    while any(consumer.position(p) < ends[p] for p in partitions):
        assert time.monotonic() < deadline, f"{len(out)} records"
        for messages in consumer.poll(timeout_ms=500).values():
            out += [Rec(m.partition, m.key, m.value, tuple(m.headers), m.timestamp, m.offset) for m in messages]
    consumer.close()
    return out


# --- aiokafka


def write_aiokafka(tools: Tools, topic: str, codec: str, records: Sequence[Rec]) -> None:
    from aiokafka import AIOKafkaProducer

    async def go() -> None:
        compression = None if codec == "none" else codec
        async with AIOKafkaProducer(
            bootstrap_servers=tools.bootstrap, compression_type=compression, linger_ms=50, acks="all"
        ) as producer:
            sent = [
                await producer.send(
                    topic, r.value, r.key, r.partition, timestamp_ms=r.timestamp, headers=list(r.headers)
                )
                for r in records
            ]
            await asyncio.wait_for(asyncio.gather(*sent), 20)

    asyncio.run(go())


def read_aiokafka(tools: Tools, topic: str) -> list[Rec]:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    async def go() -> list[Rec]:
        consumer = AIOKafkaConsumer(
            topic, bootstrap_servers=tools.bootstrap, enable_auto_commit=False, auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            partitions = [TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic)]
            out: list[Rec] = []
            ends, deadline = await consumer.end_offsets(partitions), time.monotonic() + 30
            while sum(ends.values()) > len(out):
                assert time.monotonic() < deadline, f"{len(out)} of {sum(ends.values())} records"
                for messages in (await consumer.getmany(timeout_ms=500)).values():
                    out += [Rec(m.partition, m.key, m.value, tuple(m.headers), m.timestamp, m.offset) for m in messages]
            return out
        finally:
            await consumer.stop()

    return asyncio.run(go())


# --- kcat


def write_kcat(tools: Tools, topic: str, codec: str, records: Sequence[Rec]) -> None:
    """kcat gives all records of a call the same headers, and needs delimiters that the data does not hold."""
    headers = records[0].headers
    lines = b"\x1e".join((r.key or b"") + b"\x1f" + (r.value or b"") for r in records)
    command = [
        "kcat",
        "-P",
        "-b",
        tools.bootstrap,
        "-t",
        topic,
        "-p",
        str(records[0].partition),
        "-z",
        codec,
        "-D",
        "\x1e",
        "-K",
        "\x1f",
    ]
    for name, value in headers:
        command += ["-H", f"{name}={(value or b'').decode()}"]
    with tempfile.NamedTemporaryFile() as data:
        data.write(lines)
        data.flush()
        subprocess.run([*command, "-l", data.name, "-X", "linger.ms=50"], check=True, timeout=30, capture_output=True)


def read_kcat(tools: Tools, topic: str) -> list[Rec]:
    """Lengths stand before the bytes, so that any byte may stand in them; header values are text."""
    form = "%p %o %T %K %S %h\x1e%k\x1f%s\x1f\n"
    command = ["kcat", "-C", "-b", tools.bootstrap, "-t", topic, "-o", "beginning", "-e", "-q", "-f", form]
    data = subprocess.run(command, check=True, timeout=40, capture_output=True).stdout
    out, at = [], 0
    while at < len(data):
        end = data.index(b"\x1e", at)
        partition, offset, timestamp, key_length, value_length, header_text = data[at:end].decode().split(" ", 5)
        at = end + 1
        key = None if int(key_length) < 0 else data[at : at + int(key_length)]
        at += max(0, int(key_length)) + 1
        value = None if int(value_length) < 0 else data[at : at + int(value_length)]
        at += max(0, int(value_length)) + 2
        headers = tuple((n, v.encode()) for n, _, v in (pair.partition("=") for pair in header_text.split(",") if pair))
        out.append(Rec(int(partition), key, value, headers, int(timestamp), int(offset)))
    return out


# --- Java


def write_java(tools: Tools, topic: str, codec: str, records: Sequence[Rec]) -> None:
    lines = "".join(json.dumps(to_json(r)) + "\n" for r in records)
    tools.java.run(
        "Records", "produce", tools.bootstrap, topic, f"compression.type={codec}", "linger.ms=50", stdin=lines
    )


def read_java(tools: Tools, topic: str) -> list[Rec]:
    result = tools.java.run("Records", "consume", tools.bootstrap, topic, "fetch.max.wait.ms=100")
    return [from_json(json.loads(line)) for line in result.out.splitlines()]


# --- kafkajs


def write_kafkajs(tools: Tools, topic: str, codec: str, records: Sequence[Rec]) -> None:
    tools.js.job("produce", bootstrap=tools.bootstrap, topic=topic, codec=codec, records=[to_json(r) for r in records])


def read_kafkajs(tools: Tools, topic: str) -> list[Rec]:
    found = tools.js.job(
        "consume", bootstrap=tools.bootstrap, topic=topic, group=f"js-{topic}-{time.time_ns()}", commit=False
    )
    return [from_json(node) for node in found]


WRITERS: dict[str, Callable[[Tools, str, str, Sequence[Rec]], None]] = {
    "confluent": write_confluent,
    "kafka-python": write_kafka_python,
    "aiokafka": write_aiokafka,
    "kcat": write_kcat,
    "java": write_java,
    "kafkajs": write_kafkajs,
}
READERS: dict[str, Callable[[Tools, str], list[Rec]]] = {
    "confluent": read_confluent,
    "kafka-python": read_kafka_python,
    "aiokafka": read_aiokafka,
    "kcat": read_kcat,
    "java": read_java,
    "kafkajs": read_kafkajs,
}


def corpus(partition: int, writer: str) -> list[Rec]:
    """Records with every shape a client can write: null, empty, binary and large; headers repeated, empty and
    null. The newest is the last."""
    headers: tuple[tuple[str, bytes | None], ...]
    if writer == "kcat":
        headers = (("source", b"kcat"), ("trace", b"77"))
        return [
            Rec(partition, f"key-{i}".encode(), (f"line {i} of kcat " * (i + 1)).encode(), headers) for i in range(40)
        ]
    now = int(time.time() * 1000) - 3_600_000
    headers = (("source", writer.encode()), ("empty", b""))
    shapes: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]] = [
        (b"key", b"value", ()),
        (None, b"no key", headers),
        (b"tombstone", None, headers),
        (b"", b"", ()),
        (bytes(range(256)), bytes(range(256)) * 3, (("twice", b"1"), ("twice", b"2"))),
        ("schlüssel".encode(), "wert €".encode(), (("kopf-é", b"x"),)),
        (b"large", b"compressible " * 8_000, ()),
    ]
    out = [Rec(partition, key, value, head, now + 1000 * i) for i, (key, value, head) in enumerate(shapes)]
    out += [
        Rec(partition, f"k{i % 7}".encode(), f"activity {i} of {writer}".encode(), headers, now + 10_000 + i)
        for i in range(60)
    ]
    return out


def folder_size(path: Path) -> int:
    return sum(f.stat().st_size for f in path.rglob("*") if f.is_file())

"""Topics of a cluster that is another one for the connector, and readers and writers of it."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Sequence
from typing import Protocol

from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.connect.connectors.kafka.sink import KafkaSink, KafkaWriter
from barnabas.connect.connectors.kafka.source import KafkaReader, KafkaSource
from barnabas.connect.contract import Position, Record, Value
from tests.support.connect import all_records
from tests.support.members import QUIET, until


class Node(Protocol):
    """In this process or in another."""

    @property
    def bootstrap(self) -> str: ...


def made(node: Node, partitions: int = 1, name: str = "", **config: str) -> str:
    name = name or f"t-{uuid.uuid4().hex[:8]}"
    settings = {word.replace("_", "."): value for word, value in config.items()}
    admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
    for future in admin.create_topics([NewTopic(name, partitions, 1, config=settings)]).values():
        future.result(20)
    return name


def produce(node: Node, topic: str, numbers: range, partitions: int = 1, commit: bool | None = None) -> None:
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
def reading(node: Node, split: str, position: Position | None = None, **options: Value) -> Iterator[KafkaReader]:
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


@contextlib.contextmanager
def writing(node: Node, name: str, **options: Value) -> Iterator[KafkaWriter]:
    writer = KafkaSink(name, {"bootstrap": node.bootstrap, **options}).open("orders", 0)
    try:
        yield writer
    finally:
        writer.close()


def written_there(node: Node, topic: str) -> list[Message]:
    return all_records(node.bootstrap, topic)

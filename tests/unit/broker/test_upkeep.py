"""What a node does with its logs beside serving: compaction, retention, damage found on the way to a reader."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.testing import RunningNode, running_node


def create(node: RunningNode, topic: str, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 0})
    settings = {name.replace("_", "."): value for name, value in config.items()}
    admin.create_topics([NewTopic(topic, 1, 1, config=settings)])[topic].result(10)


def fill(node: RunningNode, topic: str, records: list[tuple[str, bytes | None]]) -> None:
    producer = Producer({"bootstrap.servers": node.bootstrap, "batch.num.messages": 100, "linger.ms": 5})
    for key, value in records:
        producer.produce(topic, value, key)
    assert producer.flush(30) == 0


def read_all(node: RunningNode, topic: str, end: int) -> list[tuple[int, bytes, bytes | None]]:
    """Everything up to the offset `end`."""
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "g", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found: list[tuple[int, bytes, bytes | None]] = []
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            break
        found.append((message.offset(), message.key(), message.value()))
    consumer.close()
    assert not found or found[-1][0] < end
    return found


def until(true: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@pytest.mark.parametrize("value_bytes", [100, 2000])  # small rounds run in a thread, large ones in a process
def test_compaction_keeps_the_newest_of_each_key(value_bytes: int) -> None:
    settings = {"log.cleaner.backoff.ms": 100}
    with running_node(settings) as node:
        create(
            node,
            "state",
            cleanup_policy="compact",
            min_cleanable_dirty_ratio="0.01",
            internal_segment_bytes=str(100 * value_bytes),
        )
        records = [(f"key-{i % 10}", f"{i}-".encode() + b"x" * value_bytes) for i in range(1000)]
        records += [("key-3", None)]
        fill(node, "state", records)
        log = node._node.partitions.get("state", 0).log  # type: ignore[union-attr]
        until(lambda: len(read_all(node, "state", 1001)) < 200)
        found = read_all(node, "state", 1001)
        newest = {key: value for _, key, value in found}
        assert {key.decode(): value for key, value in newest.items()} == dict(records)
        assert [offset for offset, _, _ in found] == sorted({offset for offset, _, _ in found})
        assert log.log_end_offset == 1001
        node.restart()
        again = read_all(node, "state", 1001)
        assert {key: value for _, key, value in again} == newest


def test_old_segments_go_and_the_log_start_survives_a_restart() -> None:
    settings = {"log.retention.check.interval.ms": 100}
    with running_node(settings) as node:
        create(node, "t", retention_bytes="20000", internal_segment_bytes="10000", file_delete_delay_ms="0")
        for _ in range(20):
            fill(node, "t", [("k", b"x" * 1000) for _ in range(10)])
        folder = node.data_dir / "t-0"
        until(lambda: len(list(folder.glob("*.log"))) <= 4)
        first = read_all(node, "t", 200)[0][0]
        assert first > 0
        node.restart()
        assert read_all(node, "t", 200)[0][0] >= first


def test_damage_is_reported_and_never_served(caplog: pytest.LogCaptureFixture) -> None:
    with running_node() as node:
        create(node, "t")
        for i in range(5):
            fill(node, "t", [("k", f"value-{i}".encode())])
        node.stop()
        flip(node.data_dir / "t-0" / f"{0:020d}.log", b"value-2")
        node.start()
        consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "g", "log_level": 0})
        consumer.assign([TopicPartition("t", 0, OFFSET_BEGINNING)])
        values = []
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is not None and not message.error():
                values.append(message.value())
        consumer.close()
        assert values == [b"value-0", b"value-1"]
        assert any("00000000000000000000.log" in record.getMessage() for record in caplog.records)
        fill(node, "t", [("k", b"new")])  # the partition goes on
        assert node._node.partitions.get("t", 0).log.log_end_offset == 6  # type: ignore[union-attr]


def flip(path: Path, needle: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(needle)] ^= 0x01
    path.write_bytes(data)

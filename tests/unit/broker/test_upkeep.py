"""What a node does with its logs beside serving: compaction, retention, damage found on the way to a reader."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

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
    settings = {"group.id": "g", "enable.partition.eof": True, "fetch.wait.max.ms": 20, "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": node.bootstrap, **settings})
    consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)  # finds the leader; else it looks once a second
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    found: list[tuple[int, bytes, bytes | None]] = []
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        message: Any = consumer.poll(1)
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
        records: list[tuple[str, bytes | None]] = [
            (f"key-{i % 10}", f"{i}-".encode() + b"x" * value_bytes) for i in range(1000)
        ]
        records += [("key-3", None)]
        fill(node, "state", records)
        log = node._node.partitions.get("state", 0).open().log  # type: ignore[union-attr]
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
        assert node._node.partitions.get("t", 0).open().log.log_end_offset == 6  # type: ignore[union-attr]


def flip(path: Path, needle: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(needle)] ^= 0x01
    path.write_bytes(data)


def test_a_log_that_cannot_be_compacted_does_not_hold_up_the_others(caplog: pytest.LogCaptureFixture) -> None:
    with running_node({"log.cleaner.backoff.ms": 50}) as node:
        settings = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0.01", "internal_segment_bytes": "10000"}
        # The log that fails is the dirtiest of all, always: before, it was chosen again for ever.
        create(node, "bad", **settings, min_compaction_lag_ms="9223372036854775807")
        fill(node, "bad", [("k", f"{i}".encode() * 300) for i in range(500)])
        log = node._node.partitions.get("bad", 0).open().log  # type: ignore[union-attr]
        log.segments[1].release()
        Path(log.segments[1].path).unlink()
        admin = AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 0})
        resource = ConfigResource(ConfigResource.Type.TOPIC, "bad", incremental_configs=[
            ConfigEntry("min.compaction.lag.ms", "0", incremental_operation=AlterConfigOpType.SET)
        ])  # fmt: skip
        admin.incremental_alter_configs([resource])[resource].result(10)
        until(lambda: any("compaction of bad-0 failed" in record.getMessage() for record in caplog.records))
        create(node, "good", **settings)
        fill(node, "good", [(f"key-{i % 10}", b"x" * 1000) for i in range(500)])
        until(lambda: len(read_all(node, "good", 500)) < 200)
        failing = [record for record in caplog.records if "compaction of bad-0" in record.getMessage()]
        assert len(failing) == 1 and "restart the node" in failing[0].getMessage()
        problems = node._node.health.problems()  # type: ignore[union-attr]
        assert ("compaction", "bad-0") in {(problem.what, problem.subject) for problem in problems}


def test_a_segment_removed_by_hand_stops_retention_of_its_partition_only(caplog: pytest.LogCaptureFixture) -> None:
    with running_node({"log.retention.check.interval.ms": 100}) as node:
        for topic in ("a", "b", "c"):
            create(node, topic, retention_ms="-1", internal_segment_bytes="10000")
            for _ in range(5):
                fill(node, topic, [("k", b"x" * 1000) for _ in range(20)])
        log = node._node.partitions.get("b", 0).open().log  # type: ignore[union-attr]
        log.segments[0].release()
        Path(log.segments[0].path).unlink()
        admin = AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 0})
        for topic in ("a", "b", "c"):
            resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[
                ConfigEntry("retention.ms", "1", incremental_operation=AlterConfigOpType.SET)
            ])  # fmt: skip
            admin.incremental_alter_configs([resource])[resource].result(10)
        for topic in ("a", "c"):
            other = node._node.partitions.get(topic, 0).open().log  # type: ignore[union-attr]
            until(lambda other=other: other.log_start_offset == 100)  # type: ignore[misc]
        failing = [record.getMessage() for record in caplog.records if "retention of" in record.getMessage()]
        assert len(failing) == 1 and "retention of b-0 failed" in failing[0]


def test_an_open_transaction_does_not_hold_up_retention() -> None:
    """As in Kafka: what has expired goes, up to the high watermark; the transaction can still be ended."""
    with running_node({"log.retention.check.interval.ms": 100}) as node:
        create(node, "t", retention_bytes="20000", internal_segment_bytes="10000", file_delete_delay_ms="0")
        hanging = Producer({"bootstrap.servers": node.bootstrap, "transactional.id": "hangs", "linger.ms": 0})
        hanging.init_transactions(10)
        hanging.begin_transaction()
        hanging.produce("t", b"first")
        hanging.flush(10)
        for _ in range(10):
            fill(node, "t", [("k", b"x" * 1000) for _ in range(20)])
        partition = node._node.partitions.get("t", 0).open()  # type: ignore[union-attr]
        until(lambda: partition.log.size_bytes < 40_000)  # one segment of 20 kB stays: nothing more expires
        assert partition.log.log_start_offset > 100
        assert partition.last_stable_offset == partition.log.log_start_offset
        hanging.abort_transaction(10)
        until(lambda: partition.last_stable_offset == partition.log.log_end_offset)
        # The index names what was aborted, although its first record is gone; a reader sees the rest.
        assert [first for _, first in partition.aborted.between(partition.log.log_start_offset, 1 << 62)] == [0]
        start = partition.log.log_start_offset
        assert {offset for offset, _, _ in read_all(node, "t", 1000)} == set(range(start, 201))
        node.restart()
        again = node._node.partitions.get("t", 0).open()  # type: ignore[union-attr]
        assert again.last_stable_offset == again.log.log_end_offset == 202
        assert {offset for offset, _, _ in read_all(node, "t", 1000)} <= set(range(start, 201))


def test_a_lost_partition_metadata_is_written_again(caplog: pytest.LogCaptureFixture) -> None:
    with running_node() as node:
        create(node, "t")
        fill(node, "t", [("k", b"v")])
        path = node.data_dir / "t-0" / "partition.metadata"
        before = path.read_bytes()
        node.stop()
        path.unlink()
        node.start()
        assert [value for _, _, value in read_all(node, "t", 1)] == [b"v"]
        assert path.read_bytes() == before
        assert any("partition.metadata: written again" in record.getMessage() for record in caplog.records)


def test_an_unnamed_folder_that_is_newer_than_its_topic_is_not_adopted() -> None:
    """The topic was deleted and made again while the node was down, and the file that tells them apart is lost."""
    with running_node() as node:
        create(node, "t")
        fill(node, "t", [("k", b"old")])
        node.stop()
        folder = node.data_dir / "t-0"
        (folder / "partition.metadata").unlink()
        (folder / "leader-epoch-checkpoint").write_text("0\n1\n7 0\n")
        segment = folder / f"{0:020d}.log"
        data = bytearray(segment.read_bytes())
        data[12:16] = (7).to_bytes(4, "big")  # the leader epoch lies outside of the CRC
        segment.write_bytes(data)
        node.start()
        fill(node, "t", [("k", b"new")])
        assert [value for _, _, value in read_all(node, "t", 1)] == [b"new"]

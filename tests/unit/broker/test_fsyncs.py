"""No fsync holds the loop while a node serves: all of them are made in threads. One takes 0.5 ms on a good disk, and
seconds on a disk that is busy."""

import asyncio
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from barnabas.broker.quorum import metadata_log
from barnabas.storage.disk import Disk
from barnabas.testing import RunningNode, running_node

from .test_upkeep import create, fill, read_all, until

QUICK = {
    "log.retention.check.interval.ms": 50,
    "log.cleaner.backoff.ms": 50,
    "log.flush.offset.checkpoint.interval.ms": 50,
    "replica.high.watermark.checkpoint.interval.ms": 50,
}


class Fsyncs:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.on_the_loop: list[str] = []
        self.in_threads = 0
        for name in ("sync", "sync_directory", "sync_filesystem"):
            monkeypatch.setattr(Disk, name, self._noting(getattr(Disk, name)))

    def _noting(self, right: Callable[..., None]) -> Callable[..., None]:
        def noted(disk: Disk, *arguments: Any) -> None:
            if asyncio._get_running_loop() is None:
                self.in_threads += 1
            else:
                self.on_the_loop.append("".join(traceback.format_stack(limit=8)))
            right(disk, *arguments)

        return noted


def test_every_fsync_of_a_serving_node_is_made_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_log, "SNAPSHOT_AFTER_RECORDS", 50)
    with running_node(QUICK) as node:
        fsyncs = Fsyncs(monkeypatch)
        serve(node)
        assert fsyncs.in_threads > 20, "hardly anything was flushed"
        assert not fsyncs.on_the_loop, fsyncs.on_the_loop[0]
        monkeypatch.undo()


def serve(node: RunningNode) -> None:
    """Topics that come and go, flushed records, transactions, offsets, compaction, retention, deleted records."""
    small = {"internal_segment_bytes": "10000", "file_delete_delay_ms": "0"}
    create(node, "compacted", cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", **small)
    create(node, "expiring", retention_bytes="20000", **small)
    create(node, "flushed", flush_messages="1")
    for _ in range(5):
        for topic in ("compacted", "expiring", "flushed"):
            fill(node, topic, [(f"key-{i % 10}", b"x" * 1000) for i in range(40)])
    transactional = Producer({"bootstrap.servers": node.bootstrap, "transactional.id": "t", "linger.ms": 0})
    transactional.init_transactions(10)
    for _ in range(3):
        transactional.begin_transaction()
        transactional.produce("flushed", b"v")
        transactional.commit_transaction(10)
    partitions = node._node.partitions  # type: ignore[union-attr]
    expiring, compacted = (partitions.get(topic, 0).open().log for topic in ("expiring", "compacted"))  # type: ignore[union-attr]
    until(lambda: expiring.log_start_offset > 0 and compacted.first_dirty_offset > 100)
    assert len(read_all(node, "compacted", 1000)) < 150
    admin = AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 0})
    at = TopicPartition("expiring", 0, 190)
    admin.delete_records([at])[at].result(10)
    for topic in ("expiring", "flushed"):
        admin.delete_topics([topic])[topic].result(10)
    for number in range(20):  # snapshots of the metadata
        create(node, f"topic-{number}")
    until(lambda: not list(node.data_dir.glob("*-delete")))
    until(lambda: len(list(node.data_dir.glob("__cluster_metadata-0/*.checkpoint"))) > 1)

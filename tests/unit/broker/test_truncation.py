"""The end of a follower's log is cut: its producers are read in a thread, and nothing is appended till then."""

import asyncio
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.node import Node
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.state import read_producers
from barnabas.broker.platform import Platform
from barnabas.model.errors import ErrorCode
from barnabas.storage.damage import Damage, Damaged

from .cluster import Cluster, run, until
from .test_replication import batch, create, leader_of, produce, produced, replicas, same

LOG_BYTES = 12 * 1024 * 1024  # 0.2 s of reading, in one go
TURN_SECONDS = 0.05
NOW_MS = 1_700_000_000_000


class _GatedThreads(ThreadPoolExecutor):
    gate: threading.Event

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        if fn is read_producers:
            return super().submit(partial(self._when_open, fn, *args, **kwargs))
        return super().submit(fn, *args, **kwargs)

    def _when_open(self, fn: Callable[..., Any], *args: Any) -> Any:
        assert self.gate.wait(30)
        return fn(*args)


class GatedGround(Platform):
    """Real threads, but the producers are not read before the gate is open."""

    def __init__(self) -> None:
        self.gate = threading.Event()

    def threads(self, count: int, name: str) -> Executor:
        made = _GatedThreads(count, thread_name_prefix=name)
        made.gate = self.gate
        return made


def hosted(node: Node) -> OpenPartition:
    found = node.partitions.hosted("t", 0)
    assert found is not None
    return found.open()


async def longest_turn(done: Callable[[], bool]) -> float:
    """The most CPU time that the loop's thread spent between two turns of this task."""
    longest, before = 0.0, time.thread_time()
    async with asyncio.timeout(60):
        while not done():
            await asyncio.sleep(0.0005)
            now = time.thread_time()
            longest, before = max(longest, now - before), now
    return longest


def test_a_large_log_is_cut_without_holding_the_loop(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, 1)
        await cluster.start()
        try:
            await create(cluster)
            partition = hosted(await cluster.controller())
            own = partition.log
            one = bytearray(batch([b"v"], (7, 0, 0)))
            for offset in range(LOG_BYTES // len(one)):
                struct.pack_into(">q", one, 0, offset)  # outside of the CRC
                own.append(one, base_offset=offset, last_offset=offset, max_timestamp=NOW_MS, leader_epoch=0)
            end_offset = own.log_end_offset
            before = time.thread_time()
            assert partition.follower.truncate(end_offset - 1)
            cutting = time.thread_time() - before
            assert partition.rebuild is not None and own.snapshot_source is None
            longest = await longest_turn(lambda: partition.rebuild is None)
            assert max(cutting, longest) < TURN_SECONDS, (cutting, longest)
            (entry,) = partition.producers.entries()
            assert (entry.producer_id, entry.last_offset) == (7, end_offset - 2)
            assert own.snapshot_source is not None
        finally:
            cluster.drop()

    run(test)


def test_answers_that_come_before_the_producers_are_known_are_passed_over(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path)
        grounds = {number: GatedGround() for number in cluster.ports}
        cluster.grounds.update(grounds)
        await cluster.start()
        try:
            await create(cluster)
            for number in range(5):
                await produced(cluster, batch([b"value"], (9, 0, number)))
            source = await leader_of(cluster)
            node = next(node for node in cluster.nodes.values() if node is not source)
            partition = hosted(node)
            await until(lambda: partition.high_watermark == 5)
            assert partition.follower.truncate(2)
            # Its fetch is parked at the leader, at offset 5: what is written there now comes as the answer to it.
            answer = await produce(source, batch([b"value"], (9, 0, 5)), acks=1)
            assert answer.error_code == ErrorCode.NONE
            await until(lambda: partition.follower.when_rebuilt is not None)
            assert partition.log.log_end_offset == 2 and partition.rebuild is not None
            assert partition.last_stable_offset == 0
            partition.log.take_snapshot()
            assert 2 not in partition.log.snapshots.offsets
            grounds[node.node_id].gate.set()
            await until(lambda: partition.log.log_end_offset == 6)
            assert [header.base_offset for header in partition.log.headers_from(0)] == list(range(6))
            assert partition.producers.entries() == hosted(source).producers.entries()
            await until(lambda: partition.last_stable_offset == 6)
        finally:
            for platform in grounds.values():
                platform.gate.set()
            cluster.drop()

    run(test)


def test_who_is_chosen_meanwhile_leads_when_the_producers_are_known(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path)
        grounds = {number: GatedGround() for number in cluster.ports}
        cluster.grounds.update(grounds)
        await cluster.start()
        try:
            await create(cluster)
            offset = await produced(cluster, batch([b"value"], (9, 0, 0)))
            source = await leader_of(cluster)
            others = [node for node in cluster.nodes.values() if node is not source]
            for node in others:
                await until(lambda node=node: hosted(node).high_watermark == offset + 1)  # type: ignore[misc]
                hosted(node).end_was_cut()
            del cluster.nodes[source.node_id]
            await source.stop()
            await until(lambda: any(hosted(node).partition.is_leader for node in others))
            chosen = next(node for node in others if hosted(node).partition.is_leader)
            assert chosen.partitions.get("t", 0) is None
            answer = await produce(chosen, batch([b"value"], (9, 0, 0)), acks=1)
            assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            for platform in grounds.values():
                platform.gate.set()
            assert await produced(cluster, batch([b"value"], (9, 0, 0))) == offset  # known: appended before
            partition = hosted(await leader_of(cluster))
            assert partition.log.log_end_offset == offset + 1
            assert await produced(cluster, batch([b"value"], (9, 0, 1))) == offset + 1
        finally:
            for platform in grounds.values():
                platform.gate.set()
            cluster.drop()

    run(test)


def test_a_log_that_cannot_be_read_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, 1)
        await cluster.start()
        try:
            await create(cluster)
            node = await cluster.controller()
            await produced(cluster, batch([b"value"], (9, 0, 0)))
            partition, failing = hosted(node), [True, True]

            def fails(log: Any) -> Any:
                if failing:
                    failing.pop()
                    raise FileNotFoundError(2, "No such file or directory", "00.log")
                return read_producers(log)

            monkeypatch.setattr("barnabas.broker.partition.producer_rebuilds.read_producers", fails)
            partition.end_was_cut()
            await until(lambda: bool(node.health.problems()))
            assert node.health.problems()[0].subject == "t-0"
            await until(lambda: partition.rebuild is None)
            assert not node.health.problems()
            assert [entry.producer_id for entry in partition.producers.entries()] == [9]
            assert len([record for record in caplog.records if "reading the producers" in record.message]) == 1
        finally:
            cluster.drop()

    run(test)


def test_a_damaged_log_that_was_cut_is_filled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its producers cannot be read, so nothing waits for them."""

    async def test() -> None:
        cluster = Cluster(tmp_path, 3)
        await cluster.start()
        try:
            await create(cluster)
            for number in range(5):
                await produced(cluster, batch([b"%d" % number], (9, 0, number)))
            follower = next(each for each in replicas(cluster) if not each.is_leader).open()

            def is_damaged(log: Any) -> Any:
                if log is follower.log and log.log_end_offset:
                    raise Damaged(Damage(log.segments[0].path, 0, "planted"))
                return read_producers(log)

            monkeypatch.setattr("barnabas.broker.partition.producer_rebuilds.read_producers", is_damaged)
            follower.end_was_cut()
            await until(lambda: bool(follower.log.damages) or follower.rebuild is None)
            await produced(cluster, batch([b"5"], (9, 0, 5)))
            await until(lambda: same(cluster) and follower.rebuild is None)
            assert [entry.producer_id for entry in follower.producers.entries()] == [9]
        finally:
            cluster.drop()

    run(test)

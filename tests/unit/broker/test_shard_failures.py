"""A coordinator that fails with a defect: its shard is dropped and loaded again, and nobody else is harmed."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.coordinator.failures import FORGET_MS, MAX_BACKOFF_MS, ShardFailures
from barnabas.broker.node import Node
from barnabas.core.coordinator.java_hash import java_hash
from barnabas.core.groups import requests as group_requests
from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.shard import GroupShard
from barnabas.core.txn import requests as txn_requests
from barnabas.model.errors import ErrorCode
from barnabas.wire import apis
from tests.unit.broker.cluster import Cluster, ask, run, until
from tests.unit.broker.test_replication import create

SHARDS = 4


def test_failures_in_a_row_wait_longer_and_are_forgotten() -> None:
    failures = ShardFailures()
    assert failures.note(1, 0, at_once=True) == 0
    assert not failures.waits(1, 0)
    assert failures.note(1, 10, at_once=True) == 500
    assert failures.waits(1, 500)
    assert not failures.waits(2, 500)
    assert not failures.waits(1, 510)
    assert [failures.note(1, 600 + i, at_once=True) for i in range(10)][-1] == MAX_BACKOFF_MS
    assert failures.note(1, 1_000_000 + FORGET_MS, at_once=True) == 0
    assert failures.note(3, 0, at_once=False) == 500
    assert failures.total == 14


def group_in(index: int, name: str) -> str:
    return next(f"{name}{i}" for i in range(1000) if java_hash(f"{name}{i}") % SHARDS == index)


async def commit(node: Node, group: str, offset: int) -> int:
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    body = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": ""}
    answer = await ask(node, apis.OFFSET_COMMIT, 9, body | {"topics": [{"name": "t", "partitions": [partition]}]})
    return int(answer.topics[0].partitions[0].error_code)


async def committed(node: Node, group: str) -> tuple[int, int]:
    topics = [{"name": "t", "partition_indexes": [0]}]
    answer = await ask(node, apis.OFFSET_FETCH, 8, {"groups": [{"group_id": group, "topics": topics}]})
    found = answer.groups[0]
    return int(found.error_code), found.topics[0].partitions[0].committed_offset if found.topics else -1


async def one_node(tmp_path: Path) -> tuple[Cluster, Node]:
    cluster = Cluster(tmp_path, 1, offsets_topic_num_partitions=str(SHARDS))
    await cluster.start()
    node = cluster.nodes[1]
    await create(cluster, "t")
    await ask(node, apis.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": ["any"]})
    await until(lambda: node.groups.partition_count == SHARDS)
    return cluster, node


def test_a_request_that_breaks_a_shard_is_told_and_the_shard_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    good, poison, other = group_in(0, "good"), group_in(0, "poison"), group_in(1, "other")
    real = group_requests.ANSWERING[8]

    def breaks(world: Any, request: Any, info: Any) -> Any:
        if request.group_id == poison:
            world.groups[poison] = ClassicGroup(poison, world.now_ms)  # in memory, and not in the log
            raise ValueError("a planted defect")
        return real(world, request, info)

    async def story() -> None:
        cluster, node = await one_node(tmp_path)
        try:
            assert await commit(node, good, 5) == 0
            assert await commit(node, other, 6) == 0
            monkeypatch.setitem(group_requests.ANSWERING, 8, breaks)
            body = {"group_id": good, "session_timeout_ms": 30_000, "rebalance_timeout_ms": 30_000, "member_id": ""}
            body |= {"protocol_type": "consumer", "protocols": [{"name": "range", "metadata": b""}]}
            parked = asyncio.ensure_future(ask(node, apis.JOIN_GROUP, 3, body))
            await until(lambda: any(hosted.waiting for hosted in node.groups._hosted.values()))
            assert await commit(node, poison, 1) == ErrorCode.UNKNOWN_SERVER_ERROR
            assert (await parked).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert await committed(node, good) == (0, 5), "loaded again at once, from the log"
            listed = await ask(node, apis.LIST_GROUPS, 4, {})
            assert sorted(group.group_id for group in listed.groups) == sorted([good, other])
            # The same again within a minute: only that shard waits.
            assert await commit(node, poison, 1) == ErrorCode.UNKNOWN_SERVER_ERROR
            assert (await committed(node, good))[0] == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert await commit(node, other, 7) == 0
            assert node.groups.failures.total == 2
            async with asyncio.timeout(5):
                while (await committed(node, good))[0]:
                    await asyncio.sleep(0.02)
            assert await committed(node, good) == (0, 5)
        finally:
            cluster.drop()

    with caplog.at_level(logging.ERROR):
        run(story)
    said = [record for record in caplog.records if "dropped and loaded again" in record.getMessage()]
    assert len(said) == 2
    assert "__consumer_offsets-0" in said[0].getMessage()
    assert "a planted defect" in said[0].getMessage()


def test_a_shard_whose_log_cannot_be_replayed_harms_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = group_in(2, "good"), group_in(3, "bad")
    real = GroupShard.replay
    tries = 0

    def replay(self: GroupShard, key: bytes, value: bytes | None, now_ms: int = 0) -> str | None:
        nonlocal tries
        if bad.encode() in key:
            tries += 1
            raise IndexError("a planted defect")
        return real(self, key, value, now_ms)

    async def story() -> None:
        cluster, node = await one_node(tmp_path)
        try:
            assert await commit(node, bad, 5) == 0
            assert await commit(node, good, 6) == 0
            await cluster.stop()
            monkeypatch.setattr(GroupShard, "replay", replay)
            await cluster.start()
            node = cluster.nodes[1]
            await until(lambda: tries >= 1)
            for _ in range(20):
                assert (await committed(node, bad))[0] == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert tries <= 2, "asking does not load it again before its time"
            assert await committed(node, good) == (0, 6)
            monkeypatch.setattr(GroupShard, "replay", real)
            async with asyncio.timeout(10):
                while (await committed(node, bad))[0]:
                    await asyncio.sleep(0.02)
            assert await committed(node, bad) == (0, 5)
        finally:
            cluster.drop()

    run(story)


def test_the_transaction_coordinator_keeps_the_same_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = txn_requests.HANDLERS[22]

    def breaks(world: Any, request: Any, info: Any) -> Any:
        if request.transactional_id == "poison":
            raise RuntimeError("a planted defect")
        return real(world, request, info)

    async def init(node: Node, name: str) -> Any:
        body = {"transactional_id": name, "transaction_timeout_ms": 20_000, "producer_id": -1, "producer_epoch": -1}
        return await ask(node, apis.INIT_PRODUCER_ID, 4, body)

    async def story() -> None:
        cluster = Cluster(tmp_path, 1, transaction_state_log_num_partitions="1")
        await cluster.start()
        node = cluster.nodes[1]
        try:
            await ask(node, apis.FIND_COORDINATOR, 4, {"key_type": 1, "coordinator_keys": ["any"]})
            await until(lambda: node.transactions.partition_count == 1)
            async with asyncio.timeout(10):
                while (first := await init(node, "good")).error_code:
                    await asyncio.sleep(0.02)
            monkeypatch.setitem(txn_requests.HANDLERS, 22, breaks)
            assert (await init(node, "poison")).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            again = await init(node, "good")
            assert again.error_code == 0
            assert (again.producer_id, again.producer_epoch) == (first.producer_id, first.producer_epoch + 1)
        finally:
            cluster.drop()

    run(story)

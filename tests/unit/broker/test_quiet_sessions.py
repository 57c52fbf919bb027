"""A session of many partitions in which nothing happens is not read again after each wait; what changed is told."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.api import fetch as module
from barnabas.broker.fetch.reader import PartitionRead, read_all

from .cluster import Cluster, ask, run, until

FETCH, CREATE_TOPICS = 1, 19
MANY = 120


def _fetch(session: tuple[int, int], named: int, wait_ms: int) -> dict[str, Any]:
    asked = [
        {"partition": index, "current_leader_epoch": -1, "fetch_offset": 0, "partition_max_bytes": 1000}
        for index in range(named)
    ]
    return {
        "replica_id": -1,
        "max_wait_ms": wait_ms,
        "min_bytes": 1,
        "max_bytes": 1000,
        "session_id": session[0],
        "session_epoch": session[1],
        "topics": [{"topic": "t", "partitions": asked}] if named else [],
        "forgotten_topics_data": [],
        "rack_id": "",
    }


def test_only_what_happened_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []

    def counted(*given: Any, **more: Any) -> tuple[list[PartitionRead], int, bool]:
        found = read_all(*given, **more)
        reads.append(len(found[0]))
        return found

    monkeypatch.setattr(module, "read_all", counted)

    async def story() -> None:
        cluster = Cluster(tmp_path, 1)
        try:
            await cluster.start()
            node = cluster.nodes[1]
            topic = {"name": "t", "num_partitions": MANY, "replication_factor": 1, "configs": []}
            body = {"topics": [topic], "timeout_ms": 10_000, "validate_only": False}
            assert (await ask(node, CREATE_TOPICS, 7, body)).topics[0].error_code == 0
            await until(lambda: node.partitions.get("t", MANY - 1) is not None)
            opened = await ask(node, FETCH, 11, _fetch((0, 0), MANY, 10))
            assert len(opened.responses[0].partitions) == MANY
            session = opened.session_id
            reads.clear()
            quiet = await ask(node, FETCH, 11, _fetch((session, 1), 0, 50))
            assert quiet.session_id == session
            assert quiet.responses == []
            assert reads == [MANY]  # before the wait, not after it

            waiting = asyncio.ensure_future(ask(node, FETCH, 11, _fetch((session, 2), 0, 20_000)))
            await until(lambda: node.parked_partitions.count == MANY)
            hosted = node.partitions.get("t", 7)
            assert hosted is not None
            hosted.open().waiters.wake_fetches(hosted.open())  # as when records or a new leader come
            assert (await asyncio.wait_for(waiting, 5)).session_id == session
            assert reads == [MANY] * 3
        finally:
            cluster.drop()

    run(story)

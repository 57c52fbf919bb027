"""Fetches that wait are bounded for the node as a whole: beyond that they are answered at once, with nothing."""

import asyncio
import time
from pathlib import Path
from typing import Any

from .cluster import Cluster, ask, run, until

FETCH, CREATE_TOPICS = 1, 19
WAIT_MS = 20_000


def fetch(partitions: int, wait_ms: int = WAIT_MS) -> dict[str, Any]:
    asked = [
        {"partition": index, "current_leader_epoch": -1, "fetch_offset": 0, "partition_max_bytes": 1000}
        for index in range(partitions)
    ]
    return {
        "replica_id": -1,
        "max_wait_ms": wait_ms,
        "min_bytes": 1,
        "max_bytes": 1000,
        "session_epoch": -1,
        "topics": [{"topic": "t", "partitions": asked}],
    }


def test_a_fetch_beyond_the_limit_does_not_wait(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path, 1)
        try:
            await cluster.start()
            node = cluster.nodes[1]
            topic = {"name": "t", "num_partitions": 3, "replication_factor": 1, "configs": []}
            body = {"topics": [topic], "timeout_ms": 10_000, "validate_only": False}
            assert (await ask(node, CREATE_TOPICS, 7, body)).topics[0].error_code == 0
            await until(lambda: node.partitions.get("t", 2) is not None)
            node.parked_partitions.most = 5
            waiting = asyncio.ensure_future(ask(node, FETCH, 11, fetch(3)))
            await until(lambda: node.parked_partitions.count == 3)
            began = time.monotonic()
            answer = await ask(node, FETCH, 11, fetch(3))  # six would wait
            assert time.monotonic() - began < WAIT_MS / 2000
            assert [part.error_code for part in answer.responses[0].partitions] == [0, 0, 0]
            assert not waiting.done() and node.parked_partitions.count == 3
            second = asyncio.ensure_future(ask(node, FETCH, 11, fetch(2)))  # five may
            await until(lambda: node.parked_partitions.count == 5)
            for gone in (waiting, second):  # a client that goes gives its room back
                gone.cancel()
            await until(lambda: node.parked_partitions.count == 0)
            await ask(node, FETCH, 11, fetch(3, wait_ms=20))  # so does one that was answered
            assert node.parked_partitions.count == 0
        finally:
            cluster.drop()

    run(story)

"""A running node computes a large group's assignment, and what a regular expression stands for, in threads."""

import asyncio
from pathlib import Path
from typing import Any

from barnabas.broker.node import Node
from barnabas.wire import apis
from tests.unit.broker.cluster import Cluster, ask, run, until

PARTITIONS = 1_200


async def beat(node: Node, **fields: Any) -> Any:
    answer = await ask(node, apis.CONSUMER_GROUP_HEARTBEAT, 1, {"group_id": "g", "member_id": "m"} | fields)
    assert answer.error_code in (0, 14, 15, 16), answer
    return answer


async def assigned(node: Node, first: Any) -> int:
    """Heartbeats as a client sends them, until there is an assignment."""
    answer = first
    while not (answer.assignment and answer.assignment.topic_partitions):
        await asyncio.sleep(0.01)
        answer = await beat(node, member_epoch=answer.member_epoch)
    return sum(len(topic.partitions) for topic in answer.assignment.topic_partitions)


def test_a_large_group_is_assigned_by_a_thread(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path, 1)
        await cluster.start()
        node = cluster.nodes[1]
        try:
            topics = [{"name": "t", "num_partitions": PARTITIONS, "replication_factor": 1}]
            await ask(node, apis.CREATE_TOPICS, 7, {"topics": topics, "timeout_ms": 30_000})
            await until(lambda: node.image.topic("t") is not None)
            await ask(node, apis.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": ["g"]})
            joins = {"member_epoch": 0, "rebalance_timeout_ms": 1000, "topic_partitions": []}
            joins |= {"subscribed_topic_regex": "[a-z]"}
            async with asyncio.timeout(20):
                while (answer := await beat(node, **joins)).error_code:
                    await asyncio.sleep(0.02)
                assert not answer.assignment.topic_partitions, "the thread has not begun when the answer is made"
                assert answer.heartbeat_interval_ms < 1_000
                assert await assigned(node, answer) == PARTITIONS
            assert not node.groups.failures.total
        finally:
            cluster.drop()

    run(story)

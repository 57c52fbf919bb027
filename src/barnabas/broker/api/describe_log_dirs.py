"""DescribeLogDirs (35), versions 1-5: how many bytes each partition takes, and how many the disk has left (KIP-113,
KIP-827 in v4). A partition whose log nobody has opened yet is measured by its files, in a thread.

Versions: 2 flexible, 3 an error for the whole answer, 4 the size of the disk (KIP-827), 5 cordoned directories
(KIP-1066).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.broker.partition.partition import HostedPartition
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.storage.disk import Disk

if TYPE_CHECKING:
    from barnabas.broker.api.roles import LogDirsNode
    from barnabas.wire.messages import (
        DescribableLogDirTopic,
        DescribeLogDirsPartitionBody,
        DescribeLogDirsRequest,
        DescribeLogDirsResponseBody,
        DescribeLogDirsResultBody,
    )


async def handle(
    node: LogDirsNode, request: DescribeLogDirsRequest, context: RequestContext
) -> DescribeLogDirsResponseBody:
    budget = LoopBudget()
    hosted, closed = [], {}
    for partition in _chosen(node, request.topics):
        hosted.append(partition)
        if not partition.is_open:
            closed[partition.id] = str(node.data.partition_path(partition.id))
        await budget.pause()
    sizes, disk = await asyncio.get_running_loop().run_in_executor(
        node.read_threads, _measure, node.data.disk, closed, str(node.data_dir)
    )
    topics: dict[str, list[DescribeLogDirsPartitionBody]] = {}
    for partition in hosted:
        opened = partition.opened
        use_log = opened is not None and not partition.deleted
        size = opened.log.size_bytes if opened is not None and use_log else sizes.get(partition.id, 0)
        topics.setdefault(partition.id.topic, []).append(
            {
                "partition_index": partition.id.partition,
                "partition_size": size,
                "offset_lag": 0,
                "is_future_key": False,
            }
        )
        await budget.pause()
    if disk and node.disk_space.is_lacking:
        disk = (disk[0], 0)  # what is left is kept for the node itself: producers are refused
    result: DescribeLogDirsResultBody = {
        "error_code": int(ErrorCode.NONE if disk else ErrorCode.KAFKA_STORAGE_ERROR),
        "log_dir": str(node.data_dir.absolute()),
        "topics": [{"name": name, "partitions": partitions} for name, partitions in topics.items()],
        "total_bytes": disk[0] if disk else -1,
        "usable_bytes": disk[1] if disk else -1,
        "is_cordoned": False,
    }
    return {"error_code": 0, "results": [result]}


def _chosen(node: LogDirsNode, asked: list[DescribableLogDirTopic] | None) -> list[HostedPartition]:
    """What was asked for and is here; null asks for everything."""
    if asked is None:
        return list(node.partitions)
    found = (node.partitions.hosted(topic.topic, index) for topic in asked for index in topic.partitions)
    return list(dict.fromkeys(partition for partition in found if partition is not None))


def _measure(
    disk: Disk, closed: dict[TopicPartition, str], data_dir: str
) -> tuple[dict[TopicPartition, int], tuple[int, int] | None]:
    sizes = {partition: _log_bytes(disk, path) for partition, path in closed.items()}
    try:
        return sizes, disk.space(data_dir)
    except OSError:
        return sizes, None


def _log_bytes(disk: Disk, path: str) -> int:
    try:
        return sum(size for name, size in disk.scan(path).items() if name.endswith(".log"))
    except OSError:
        return 0

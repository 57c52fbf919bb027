"""AlterReplicaLogDirs (34), versions 1-2: move a replica to another folder of the same node. A node has one folder,
so a replica is where it should be, or the folder does not exist.

Versions: 2 flexible.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.api.roles import LogDirsNode
    from barnabas.wire.messages import (
        AlterReplicaLogDirPartitionResultBody,
        AlterReplicaLogDirsRequest,
        AlterReplicaLogDirsResponseBody,
    )


async def handle(
    node: LogDirsNode, request: AlterReplicaLogDirsRequest, context: RequestContext
) -> AlterReplicaLogDirsResponseBody:
    results: dict[str, list[AlterReplicaLogDirPartitionResultBody]] = {}
    here, budget = node.data_dir.absolute(), LoopBudget()
    for directory in request.dirs:
        known = directory.path.startswith("/") and Path(directory.path) == here
        await budget.pause()
        for topic in directory.topics:
            for index in topic.partitions:
                if not known:
                    code = ErrorCode.LOG_DIR_NOT_FOUND
                elif node.partitions.get(topic.name, index) is None:
                    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                else:
                    code = ErrorCode.NONE
                results.setdefault(topic.name, []).append({"partition_index": index, "error_code": int(code)})
                await budget.pause()
    return {"results": [{"topic_name": name, "partitions": partitions} for name, partitions in results.items()]}

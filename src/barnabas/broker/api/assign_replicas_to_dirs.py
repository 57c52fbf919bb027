"""AssignReplicasToDirs (73), version 0: a broker says where its replicas lie, or that one is lost (KIP-858)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster import ReplicaDirectory
from barnabas.core.cluster.controller import Controller

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import (
        AssignReplicasToDirsRequest,
        AssignReplicasToDirsResponseBody,
        AssignReplicasToDirsResponsePartitionDataBody,
    )


async def handle(
    node: ControllerNode, request: AssignReplicasToDirsRequest, context: RequestContext
) -> AssignReplicasToDirsResponseBody:
    wanted = [
        ReplicaDirectory(directory.id, topic.topic_id, item.partition_index)
        for directory in request.directories
        for topic in directory.topics
        for item in topic.partitions
    ]
    results = await node.controller.submit(
        Controller.assign_directories, request.broker_id, request.broker_epoch, wanted
    )
    directories: dict[bytes, dict[bytes, list[AssignReplicasToDirsResponsePartitionDataBody]]] = {}
    for result in results:
        items = directories.setdefault(result.directory_id, {}).setdefault(result.topic_id, [])
        items.append({"partition_index": result.partition, "error_code": int(result.code)})
    return {
        "error_code": 0,
        "directories": [
            {"id": key, "topics": [{"topic_id": topic, "partitions": items} for topic, items in topics.items()]}
            for key, topics in directories.items()
        ],
    }

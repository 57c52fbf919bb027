"""ListPartitionReassignments (46), version 0: the moves that are under way, of some partitions or of all (KIP-455)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster.controller import Controller

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import (
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsResponseBody,
        OngoingPartitionReassignmentBody,
    )


async def handle(
    node: ControllerNode, request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponseBody:
    asked = None if request.topics is None else [(topic.name, topic.partition_indexes) for topic in request.topics]
    topics: dict[str, list[OngoingPartitionReassignmentBody]] = {}
    for move in await node.controller.submit(Controller.list_reassignments, asked):
        topics.setdefault(move.topic, []).append(
            {
                "partition_index": move.partition,
                "replicas": move.replicas,
                "adding_replicas": move.adding,
                "removing_replicas": move.removing,
            }
        )
    return {
        "error_code": 0,
        "error_message": None,
        "topics": [{"name": name, "partitions": items} for name, items in topics.items()],
    }

"""AlterPartitionReassignments (45), versions 0-1: move partitions to other brokers, or take a move back (KIP-455).

v1 may forbid that the number of replicas changes (KIP-860).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster import Reassignment
from barnabas.core.cluster.controller import Controller
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import PARTITIONS_PER_REQUEST_MAX

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponseBody,
        ReassignablePartitionResponseBody,
    )


async def handle(
    node: ControllerNode, request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> AlterPartitionReassignmentsResponseBody:
    wanted = [
        Reassignment(topic.name, item.partition_index, item.replicas)
        for topic in request.topics
        for item in topic.partitions
    ]
    if len(wanted) > PARTITIONS_PER_REQUEST_MAX:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{PARTITIONS_PER_REQUEST_MAX} partitions at once are the most")
    factor_may_change = context.api_version < 1 or request.allow_replication_factor_change
    results = await node.controller.submit(Controller.alter_reassignments, wanted, factor_may_change)
    topics: dict[str, list[ReassignablePartitionResponseBody]] = {topic.name: [] for topic in request.topics}
    for result in results:
        topics[result.topic].append(
            {
                "partition_index": result.partition,
                "error_code": int(result.code),
                "error_message": result.message,
            }
        )
    return {
        "allow_replication_factor_change": factor_may_change,
        "error_code": 0,
        "error_message": None,
        "responses": [{"name": name, "partitions": items} for name, items in topics.items()],
    }

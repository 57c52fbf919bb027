"""CreatePartitions (37), versions 0-3: topics grow to so many partitions; each of a request has its own fate."""

from typing import TYPE_CHECKING, Any

from barnabas.broker.context import RequestContext
from barnabas.core.cluster import MorePartitions

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    wanted = [
        MorePartitions(
            topic.name,
            topic.count,
            None if topic.assignments is None else [assignment.broker_ids for assignment in topic.assignments],
        )
        for topic in request.topics
    ]
    results = await node.controller.submit("create_partitions", wanted, request.validate_only)
    return {
        "results": [
            {"name": result.name, "error_code": int(result.code), "error_message": result.message} for result in results
        ]
    }

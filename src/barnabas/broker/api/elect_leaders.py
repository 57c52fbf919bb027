"""ElectLeaders (43), versions 0-2: give partitions back to their preferred replica, or, from v1, take any replica
that is up (KIP-460). Null asks for all partitions; those that have the right leader already are then left out.
"""

from typing import TYPE_CHECKING, Any

from barnabas.broker.context import RequestContext
from barnabas.model.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.broker.node import Node

_PREFERRED = 0


async def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    election_type = request.election_type if context.api_version >= 1 else _PREFERRED
    asked = request.topic_partitions
    wanted = None if asked is None else [(topic.topic, index) for topic in asked for index in topic.partitions]
    code = 0
    topics: dict[str, list[dict[str, Any]]] = {name: [] for name in (node.image.topics if asked is None else ())}
    try:
        results = await node.controller.submit("elect_leaders", election_type, wanted)
    except KafkaError as error:
        code = int(error.code)
        for name, index in wanted or ():
            topics.setdefault(name, []).append(_item(index, code, error.message))
    else:
        for result in results:
            topics.setdefault(result.topic, []).append(_item(result.partition, int(result.code), result.message))
    results_by_topic = [{"topic": name, "partition_result": items} for name, items in topics.items()]
    return {"error_code": code, "replica_election_results": results_by_topic}


def _item(index: int, code: int, message: str | None) -> dict[str, Any]:
    return {"partition_id": index, "error_code": code, "error_message": message}

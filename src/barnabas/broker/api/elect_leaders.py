"""ElectLeaders (43), versions 0-2: give partitions back to their preferred replica, or, from v1, take any replica
that is up (KIP-460). Null asks for all partitions; those that have the right leader already are then left out. Where
many are named they are decided in parts, so that others are served in between.

Versions: 1 the kind of election and an error for the whole answer (KIP-460), 2 flexible.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.core.cluster.controller import Controller
from barnabas.core.cluster.items import ElectionResult
from barnabas.model.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import AdminNode
    from barnabas.wire.messages import (
        ElectLeadersRequest,
        ElectLeadersRequestTopicPartitions,
        ElectLeadersResponseBody,
        ElectLeadersResponsePartitionResultBody,
    )

_PREFERRED = 0
_AT_ONCE = 1_000  # partitions of one decision


async def handle(node: AdminNode, request: ElectLeadersRequest, context: RequestContext) -> ElectLeadersResponseBody:
    election_type = request.election_type if context.api_version >= 1 else _PREFERRED
    asked = request.topic_partitions
    wanted = None if asked is None else await _named(asked)
    code, budget = 0, LoopBudget()
    topics: dict[str, list[ElectLeadersResponsePartitionResultBody]] = {
        name: [] for name in (node.image.topics if asked is None else ())
    }
    try:
        results = await _elected(node, election_type, wanted)
    except KafkaError as error:
        code = int(error.code)
        for name, index in wanted or ():
            topics.setdefault(name, []).append(_item(index, code, error.message))
            await budget.pause()
    else:
        for result in results:
            topics.setdefault(result.topic, []).append(_item(result.partition, int(result.code), result.message))
            await budget.pause()
    return {
        "error_code": code,
        "replica_election_results": [{"topic": name, "partition_result": items} for name, items in topics.items()],
    }


async def _named(asked: list[ElectLeadersRequestTopicPartitions]) -> list[tuple[str, int]]:
    """Each partition once."""
    found: dict[tuple[str, int], None] = {}
    budget = LoopBudget()
    for topic in asked:
        for index in topic.partitions:
            found[topic.topic, index] = None
            await budget.pause()
    return list(found)


async def _elected(node: AdminNode, election_type: int, wanted: list[tuple[str, int]] | None) -> list[ElectionResult]:
    if wanted is None or len(wanted) <= _AT_ONCE:
        results: list[ElectionResult] = await node.controller.submit(Controller.elect_leaders, election_type, wanted)
        return results
    results = []
    for at in range(0, len(wanted), _AT_ONCE):
        results += await node.controller.submit(Controller.elect_leaders, election_type, wanted[at : at + _AT_ONCE])
        await asyncio.sleep(0)
    return results


def _item(index: int, code: int, message: str | None) -> ElectLeadersResponsePartitionResultBody:
    return {"partition_id": index, "error_code": code, "error_message": message}

"""CreatePartitions (37), versions 0-3: topics grow to so many partitions; each of a request has its own fate.

A request with many topics is decided in parts, so that others are served in between.

Versions: 1 throttling by the client (KIP-219), 2 flexible, 3 THROTTLING_QUOTA_EXCEEDED (KIP-599).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from barnabas.broker.api.permissions import ALTER, TOPIC, TOPIC_REFUSED, may
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import in_turns
from barnabas.core.cluster import MorePartitions, TopicResult
from barnabas.core.cluster.controller import Controller
from barnabas.model.limits import PARTITIONS_PER_REQUEST_MAX

if TYPE_CHECKING:
    from barnabas.broker.api.roles import AdminNode
    from barnabas.core.access.quotas.meters import Charge
    from barnabas.wire.messages import (
        CreatePartitionsRequest,
        CreatePartitionsResponseBody,
        CreatePartitionsTopic,
        CreatePartitionsTopicResultBody,
    )

_STRICT_SINCE = 3  # THROTTLING_QUOTA_EXCEEDED
_AT_ONCE = 256  # topics of one decision


async def handle(
    node: AdminNode, request: CreatePartitionsRequest, context: RequestContext
) -> CreatePartitionsResponseBody:
    times = Counter(topic.name for topic in request.topics)
    refused = {name for name in times if times[name] == 1 and not may(node, context, ALTER, TOPIC, name)}
    if refused:
        some = [topic for topic in request.topics if topic.name not in refused]
        body = await _grown(node, replace(request, topics=some), context)
        unseen: list[CreatePartitionsTopicResultBody] = [
            {"name": name, "error_code": TOPIC_REFUSED, "error_message": None} for name in refused
        ]
        return {**body, "results": [*body["results"], *unseen]}
    return await _grown(node, request, context)


async def _grown(
    node: AdminNode, request: CreatePartitionsRequest, context: RequestContext
) -> CreatePartitionsResponseBody:
    charge = node.controller.charge(context, _STRICT_SINCE)
    wanted = await in_turns(request.topics, _wanted)
    if len(wanted) <= _AT_ONCE or _growth(node, wanted) > PARTITIONS_PER_REQUEST_MAX:
        results = await node.controller.submit(
            Controller.create_partitions, wanted, request.validate_only, charge, linked=context.session.of_node
        )
    else:
        results = await _in_parts(node, wanted, request.validate_only, charge, context.session.of_node)
    return {
        "throttle_time_ms": 0 if charge is None else charge.throttle_ms,
        "results": await in_turns(results, _item),
    }


def _wanted(topic: CreatePartitionsTopic) -> MorePartitions:
    assignments = None if topic.assignments is None else [assignment.broker_ids for assignment in topic.assignments]
    return MorePartitions(topic.name, topic.count, assignments)


def _item(result: TopicResult) -> CreatePartitionsTopicResultBody:
    return {"name": result.name, "error_code": int(result.code), "error_message": result.message}


def _growth(node: AdminNode, wanted: list[MorePartitions]) -> int:
    """More than fits one decision is refused by it, so it has to see all of the request."""
    known = node.image.topics
    return sum(max(more.count - len(known[more.name].partitions), 0) for more in wanted if more.name in known)


async def _in_parts(
    node: AdminNode, wanted: list[MorePartitions], validate_only: bool, charge: Charge | None, linked: bool
) -> list[TopicResult]:
    """Two that name the same topic stay together, because both are refused; a third would change nothing."""
    times = Counter(more.name for more in wanted)
    once = list({more.name: more for more in wanted}.values())
    results: list[TopicResult] = []
    for at in range(0, len(once), _AT_ONCE):
        part = once[at : at + _AT_ONCE]
        part += [more for more in part if times[more.name] > 1]
        results += await node.controller.submit(
            Controller.create_partitions, part, validate_only, charge, linked=linked
        )
        await asyncio.sleep(0)
    return results

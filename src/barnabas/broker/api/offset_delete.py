"""OffsetDelete (47), version 0: forget a group's offsets of topics it no longer reads (KIP-496)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from barnabas.broker.api.permissions import DELETE, READ, TOPIC, TOPIC_REFUSED, may, require_group
from barnabas.broker.network.context import Answered, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import (
        OffsetDeleteRequest,
        OffsetDeleteRequestTopic,
        OffsetDeleteResponseBody,
        OffsetDeleteResponseTopicBody,
    )


def handle(
    node: GroupsNode, request: OffsetDeleteRequest, context: RequestContext
) -> Answered[OffsetDeleteResponseBody]:
    require_group(node, context, DELETE, request.group_id)
    topics = [topic for topic in request.topics if may(node, context, READ, TOPIC, topic.name)]
    if len(topics) == len(request.topics):
        return node.groups.ask(request.group_id, request, context)
    return _of_some(node, request, topics, context)


async def _of_some(
    node: GroupsNode, request: OffsetDeleteRequest, topics: list[OffsetDeleteRequestTopic], context: RequestContext
) -> OffsetDeleteResponseBody:
    allowed = {topic.name for topic in topics}
    refused: list[OffsetDeleteResponseTopicBody] = [
        {
            "name": topic.name,
            "partitions": [
                {"partition_index": each.partition_index, "error_code": TOPIC_REFUSED} for each in topic.partitions
            ],
        }
        for topic in request.topics
        if topic.name not in allowed
    ]
    asked = node.groups.ask(request.group_id, replace(request, topics=topics), context)
    answer = await asked if isinstance(asked, Awaitable) else asked
    return {**answer, "topics": [*refused, *answer.get("topics", ())]}

"""OffsetCommit (8), versions 2-10: how far a group has read; answered when the offsets are in the log.

Versions: 3 throttle time, 4 throttling by the client (KIP-219), 5 no retention time (KIP-211), 6 leader epochs
(KIP-320), 7 static members (KIP-345), 8 flexible, 9 member epochs of the consumer protocol (KIP-848), 10 topics by id.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from barnabas.broker.api.permissions import READ, TOPIC, TOPIC_REFUSED, may, require_group
from barnabas.broker.network.context import Answered, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import (
        OffsetCommitRequest,
        OffsetCommitRequestTopic,
        OffsetCommitResponseBody,
        OffsetCommitResponseTopicBody,
    )

_TOPIC_IDS_SINCE = 10


def handle(
    node: GroupsNode, request: OffsetCommitRequest, context: RequestContext
) -> Answered[OffsetCommitResponseBody]:
    require_group(node, context, READ, request.group_id)
    if node.access is None:
        return node.groups.ask(request.group_id, request, context)
    by_id = context.api_version >= _TOPIC_IDS_SINCE

    def is_allowed(topic: OffsetCommitRequestTopic) -> bool:
        name = node.image.topic_names.get(topic.topic_id) if by_id else topic.name
        return name is None or may(node, context, READ, TOPIC, name)  # an unknown id is told to be unknown

    topics = [topic for topic in request.topics if is_allowed(topic)]
    if len(topics) == len(request.topics):
        return node.groups.ask(request.group_id, request, context)
    return _of_some(node, request, topics, context)


async def _of_some(
    node: GroupsNode, request: OffsetCommitRequest, topics: list[OffsetCommitRequestTopic], context: RequestContext
) -> OffsetCommitResponseBody:
    refused: list[OffsetCommitResponseTopicBody] = [
        {
            "name": topic.name,
            "topic_id": topic.topic_id,
            "partitions": [
                {"partition_index": each.partition_index, "error_code": TOPIC_REFUSED} for each in topic.partitions
            ],
        }
        for topic in request.topics
        if topic not in topics
    ]
    if not topics:
        return {"topics": refused}
    asked = node.groups.ask(request.group_id, replace(request, topics=topics), context)
    answer = await asked if isinstance(asked, Awaitable) else asked
    return {"topics": [*refused, *answer["topics"]]}

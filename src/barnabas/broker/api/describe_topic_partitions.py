"""DescribeTopicPartitions (75), version 0: topics in the order of their names, so many partitions at a time
(KIP-966).

The cursor of an answer names the first partition that did not fit; the next request brings it back. A topic that is
gone by then is left out when all topics were asked for. Beside the in-sync replicas stand those that may lead although
they are not in sync, and those last known to (`core/cluster/partitions/partition_change.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.metadata import partition_item
from barnabas.broker.api.permissions import DESCRIBE, NO_OPERATIONS, TOPIC, TOPIC_REFUSED, may, operations
from barnabas.broker.network.context import RequestContext
from barnabas.model.access import AclResourceType
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import INTERNAL_TOPICS, ZERO_UUID, topic_name_problem

if TYPE_CHECKING:
    from barnabas.broker.api.roles import DescribeTopicsNode
    from barnabas.wire.messages import (
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponseBody,
        DescribeTopicPartitionsResponseTopicBody,
    )


def handle(
    node: DescribeTopicsNode, request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponseBody:
    asked = [topic.name for topic in request.topics]
    cursor = request.cursor
    names = sorted(set(asked) if asked else node.image.topics)
    refused = [name for name in names if not may(node, context, DESCRIBE, TOPIC, name)]
    if cursor is not None:
        if cursor.partition_index < 0 or (asked and cursor.topic_name not in asked):
            return _refusal(asked)
        names, refused = ([name for name in some if name >= cursor.topic_name] for some in (names, refused))
    unseen = set(refused)
    body = _described(node, request, context, [name for name in names if name not in unseen])
    if refused and asked:  # of topics that were not named nobody learns
        body["topics"] = [*body["topics"], *(_unseen(name, TOPIC_REFUSED) for name in refused)]
    return body


def _described(
    node: DescribeTopicsNode, request: DescribeTopicPartitionsRequest, context: RequestContext, names: list[str]
) -> DescribeTopicPartitionsResponseBody:
    cursor = request.cursor
    most = node.settings.int("max.request.partition.size.limit")
    room = max(1, min(request.response_partition_limit, most))
    topics: list[DescribeTopicPartitionsResponseTopicBody] = []
    for name in names:
        if room == 0:
            return {"topics": topics, "next_cursor": {"topic_name": name, "partition_index": 0}}
        first = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        item, end = _topic(node, context, name, first, room)
        topics.append(item)
        room -= len(item["partitions"])
        if end is not None:
            return {"topics": topics, "next_cursor": {"topic_name": name, "partition_index": end}}
    return {"topics": topics, "next_cursor": None}


def _topic(
    node: DescribeTopicsNode, context: RequestContext, name: str, first: int, room: int
) -> tuple[DescribeTopicPartitionsResponseTopicBody, int | None]:
    """The topic from its partition `first` on, and where it was cut, if it was."""
    image = node.image
    item: DescribeTopicPartitionsResponseTopicBody = {
        "error_code": 0,
        "name": name,
        "topic_id": ZERO_UUID,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": [],
        "topic_authorized_operations": operations(node, context, AclResourceType.TOPIC, name),
    }
    topic = image.topics.get(name)
    if topic is None:
        invalid = topic_name_problem(name) is not None
        code = ErrorCode.INVALID_TOPIC_EXCEPTION if invalid else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        item["error_code"] = int(code)
        return item, None
    end = min(len(topic.partitions), first + room)
    item["topic_id"] = topic.id
    item["partitions"] = [
        {
            **partition_item(image, index, partition),
            "eligible_leader_replicas": partition.elr,
            "last_known_elr": partition.last_known_elr,
        }
        for index, partition in enumerate(topic.partitions[first:end], first)
    ]
    return item, end if end < len(topic.partitions) else None


def _refusal(asked: list[str]) -> DescribeTopicPartitionsResponseBody:
    return {"topics": [_unseen(name, int(ErrorCode.INVALID_REQUEST)) for name in asked], "next_cursor": None}


def _unseen(name: str, code: int) -> DescribeTopicPartitionsResponseTopicBody:
    return {
        "error_code": code,
        "name": name,
        "topic_id": ZERO_UUID,
        "is_internal": False,
        "partitions": [],
        "topic_authorized_operations": NO_OPERATIONS,
    }

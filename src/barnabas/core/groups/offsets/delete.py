"""OffsetDelete (0): forget committed offsets, of topics nobody in the group reads (KIP-496)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.records.keys import Kind
from barnabas.core.groups.shard_state import ShardState
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        OffsetDeleteRequest,
        OffsetDeleteResponseBody,
        OffsetDeleteResponsePartitionBody,
        OffsetDeleteResponseTopicBody,
    )


def delete_offsets(world: ShardState, request: OffsetDeleteRequest) -> OffsetDeleteResponseBody:
    group = world.groups.get(request.group_id)
    if group is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {request.group_id!r}")
    if isinstance(group, ClassicGroup) and not group.is_empty and not group.uses_consumer_protocol:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP, "the members do not say which topics they read")
    topics: list[OffsetDeleteResponseTopicBody] = []
    for topic in request.topics:
        count = world.topics.partition_count(topic.name)
        partitions: list[OffsetDeleteResponsePartitionBody] = []
        for partition in topic.partitions:
            number = partition.partition_index
            if count is None or not 0 <= number < count:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif group.is_subscribed_to(topic.name):
                code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            else:
                code = ErrorCode.NONE
                forget(world, request.group_id, topic.name, number)
            partitions.append({"partition_index": number, "error_code": int(code)})
        topics.append({"name": topic.name, "partitions": partitions})
    return {"error_code": 0, "topics": topics}


def forget(world: ShardState, group_id: str, topic: str, partition: int) -> None:
    world.pending.overtaken((group_id, topic, partition))
    if world.offsets.remove(group_id, topic, partition):
        world.tombstone(Kind.OFFSET, group_id, topic, partition)


def forget_all(world: ShardState, group_id: str) -> None:
    for topic, partition, _ in world.offsets.of_group(group_id):
        forget(world, group_id, topic, partition)
    for key in world.pending.of_group(group_id):
        world.pending.overtaken(key)
        world.tombstone(Kind.OFFSET, *key)

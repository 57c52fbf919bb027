"""OffsetFetch (1-10): where a group stands, for the partitions asked about or for all it knows.

| version | added |
|---|---|
| 2 | all topics (null), an error for the whole answer |
| 5 | the leader epoch of the offset |
| 7 | `require_stable`: no answer for offsets a running transaction may still change (KIP-447) |
| 8 | several groups in one request |
| 9 | KIP-848 member id and epoch |
| 10 | topics by id |

A group or partition nobody has committed is not an error: its offset is -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.core.coordinator.contract import RequestInfo
from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.offsets.stale import is_stale
from barnabas.core.groups.shard_state import ShardState
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        OffsetFetchRequest,
        OffsetFetchRequestGroup,
        OffsetFetchResponseBody,
        OffsetFetchResponseGroupBody,
        OffsetFetchResponsePartitionsBody,
        OffsetFetchResponseTopicBody,
        OffsetFetchResponseTopicsBody,
    )

_NO_OFFSET = -1
_TOPIC_IDS_SINCE = 10
_GROUPS_SINCE = 8
_GROUP_ERROR_SINCE = 2

TopicRequest = tuple[str, Sequence[int]]


def fetch_offsets(
    world: ShardState,
    group_id: str,
    topics: Sequence[TopicRequest] | None,
    *,
    member_id: str | None = None,
    member_epoch: int = -1,
    require_stable: bool = False,
) -> list[OffsetFetchResponseTopicsBody]:
    """The topics of one group's answer, by name. Raises when a consumer group does not know the member that asks."""
    group = world.groups.get(group_id)
    if group is not None and not isinstance(group, ClassicGroup) and not (member_id is None and member_epoch < 0):
        group.check_fetch(member_id, member_epoch)
    if topics is None:
        topics = [(topic, world.offsets.partitions_of(group_id, topic)) for topic in world.offsets.topics_of(group_id)]
    return [
        {"name": topic, "partitions": [_answer(world, group_id, topic, number, require_stable) for number in numbers]}
        for topic, numbers in topics
    ]


def _answer(
    world: ShardState, group_id: str, topic: str, number: int, require_stable: bool
) -> OffsetFetchResponsePartitionsBody:
    if require_stable and world.pending.is_waiting((group_id, topic, number)):
        return _missing(number, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    kept = world.offsets.get(group_id, topic, number)
    if kept is None or (world.stale and is_stale(world, topic, kept)):
        return _missing(number, ErrorCode.NONE)
    return {
        "partition_index": number,
        "committed_offset": kept.offset,
        "committed_leader_epoch": kept.leader_epoch,
        "metadata": kept.metadata,
        "error_code": 0,
    }


def _missing(number: int, code: ErrorCode) -> OffsetFetchResponsePartitionsBody:
    return {
        "partition_index": number,
        "committed_offset": _NO_OFFSET,
        "committed_leader_epoch": -1,
        "metadata": "",
        "error_code": int(code),
    }


def handle_offset_fetch(world: ShardState, request: OffsetFetchRequest, info: RequestInfo) -> OffsetFetchResponseBody:
    version = info.api_version
    if version >= _GROUPS_SINCE:
        return {"groups": [_one_group(world, group, request.require_stable, version) for group in request.groups]}
    topics = None if request.topics is None else [(topic.name, topic.partition_indexes) for topic in request.topics]
    answer = fetch_offsets(world, request.group_id, topics, require_stable=request.require_stable)
    return {"error_code": 0, "topics": answer}


def _one_group(
    world: ShardState, group: OffsetFetchRequestGroup, require_stable: bool, version: int
) -> OffsetFetchResponseGroupBody:
    by_id = version >= _TOPIC_IDS_SINCE
    topics: list[TopicRequest] | None = None
    unknown: list[OffsetFetchResponseTopicsBody] = []
    if group.topics is not None:
        topics = []
        for topic in group.topics:
            name = world.topics.topic_name(topic.topic_id) if by_id else topic.name
            if name is None:
                missing = [_missing(number, ErrorCode.UNKNOWN_TOPIC_ID) for number in topic.partition_indexes]
                unknown.append({"topic_id": topic.topic_id, "partitions": missing})
            else:
                topics.append((name, topic.partition_indexes))
    try:
        found = fetch_offsets(
            world,
            group.group_id,
            topics,
            member_id=group.member_id,
            member_epoch=group.member_epoch,
            require_stable=require_stable,
        )
    except KafkaError as error:
        return {"group_id": group.group_id, "error_code": int(error.code), "topics": []}
    if by_id:
        found = _with_ids(world, found)
    return {"group_id": group.group_id, "error_code": 0, "topics": found + unknown}


def _with_ids(world: ShardState, topics: list[OffsetFetchResponseTopicsBody]) -> list[OffsetFetchResponseTopicsBody]:
    answer: list[OffsetFetchResponseTopicsBody] = []
    for topic in topics:
        topic_id = world.topics.topic_id(topic["name"])
        if topic_id is not None:  # a deleted topic has no id to be named by
            answer.append({"topic_id": topic_id, "partitions": topic["partitions"]})
    return answer


def fetch_refusal(request: OffsetFetchRequest, version: int, code: ErrorCode) -> OffsetFetchResponseBody:
    """A refusal of everything that was asked, for the driver's own errors as well (not coordinator, loading)."""
    if version >= _GROUPS_SINCE:
        return {
            "groups": [{"group_id": group.group_id, "error_code": int(code), "topics": []} for group in request.groups]
        }
    topics: list[OffsetFetchResponseTopicBody] = []
    if version < _GROUP_ERROR_SINCE:  # no place for an error but the partitions
        topics = [
            {"name": topic.name, "partitions": [_missing(number, code) for number in topic.partition_indexes]}
            for topic in request.topics or []
        ]
    return {"error_code": int(code), "topics": topics}

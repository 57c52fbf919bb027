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

from collections.abc import Sequence
from typing import Any

from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.effects import RequestInfo
from barnabas.core.groups.offsets.stale import is_stale
from barnabas.core.groups.shard_state import ShardState
from barnabas.model.errors import ErrorCode, KafkaError

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
) -> list[dict[str, Any]]:
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


def _answer(world: ShardState, group_id: str, topic: str, number: int, require_stable: bool) -> dict[str, Any]:
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


def _missing(number: int, code: ErrorCode) -> dict[str, Any]:
    return {
        "partition_index": number,
        "committed_offset": _NO_OFFSET,
        "committed_leader_epoch": -1,
        "metadata": "",
        "error_code": int(code),
    }


def handle_offset_fetch(world: ShardState, request: Any, info: RequestInfo, token: object) -> None:
    version = info.api_version
    if version >= _GROUPS_SINCE:
        groups = [_one_group(world, group, request.require_stable, version) for group in request.groups]
        world.reply(token, {"groups": groups})
        return
    topics = None if request.topics is None else [(topic.name, topic.partition_indexes) for topic in request.topics]
    answer = fetch_offsets(world, request.group_id, topics, require_stable=request.require_stable)
    world.reply(token, {"error_code": 0, "topics": answer})


def _one_group(world: ShardState, group: Any, require_stable: bool, version: int) -> dict[str, Any]:
    by_id = version >= _TOPIC_IDS_SINCE
    topics: list[TopicRequest] | None = None
    unknown = []
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


def _with_ids(world: ShardState, topics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    answer = []
    for topic in topics:
        topic_id = world.topics.topic_id(topic["name"])
        if topic_id is not None:  # a deleted topic has no id to be named by
            answer.append({"topic_id": topic_id, "partitions": topic["partitions"]})
    return answer


def fetch_refusal(request: Any, version: int, code: ErrorCode) -> dict[str, Any]:
    """A refusal of everything that was asked, for the driver's own errors as well (not coordinator, loading)."""
    if version >= _GROUPS_SINCE:
        groups = [{"group_id": group.group_id, "error_code": int(code), "topics": []} for group in request.groups]
        return {"groups": groups}
    topics: list[dict[str, Any]] = []
    if version < _GROUP_ERROR_SINCE:  # no place for an error but the partitions
        topics = [
            {"name": topic.name, "partitions": [_missing(number, code) for number in topic.partition_indexes]}
            for topic in request.topics or []
        ]
    return {"error_code": int(code), "topics": topics}

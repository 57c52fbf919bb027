"""OffsetCommit (2-10): a group remembers how far it has read.

| version | added |
|---|---|
| 2-4 | a retention time of the request's own (-1: the broker's) |
| 6 | the leader epoch of the offset |
| 7 | static members |
| 9 | the generation may be a KIP-848 member epoch, and a stale one is said to be stale |
| 10 | topics by id |

Who may commit: a member in its generation (classic) or epoch (consumer); and, with generation -1 and no member id,
anybody while the group has no members: such "simple" groups exist by their offsets alone. Each partition is answered
for itself; a refusal of the whole request is repeated on each.
"""

from collections.abc import Callable
from typing import Any

from barnabas.core.groups.classic.group import ClassicGroup, ClassicState
from barnabas.core.groups.classic.rebalance import heard_from
from barnabas.core.groups.effects import RequestInfo
from barnabas.core.groups.lengths import is_too_long
from barnabas.core.groups.records.keys import Kind, RecordKey
from barnabas.core.groups.records.offset_commit import NO_EXPIRY, CommittedOffset
from barnabas.core.groups.shard_state import ShardState
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import ZERO_UUID

_TOPIC_IDS_SINCE = 10
_EPOCHS_SINCE = 9
_RETENTION_UNTIL = 4
_LATEST_MS = 2**63 - 1  # what the record can carry

# Says whether this member may commit this partition; the group's answer to "who are you" is already given.
PartitionCheck = Callable[[str, int], ErrorCode]


def commit_offsets(world: ShardState, request: Any, info: RequestInfo, token: object) -> None:
    check = may_commit(world, request, info.api_version, request.generation_id_or_member_epoch)
    expires_ms = NO_EXPIRY
    if info.api_version <= _RETENTION_UNTIL and request.retention_time_ms >= 0:
        expires_ms = min(world.wall.stamp_ms + request.retention_time_ms, _LATEST_MS)
    answers, records = offset_records(world, request, info.api_version, check, expires_ms)
    for key, kept in records:
        world.write(key, kept.encode())
        world.offsets.put(key.group_id, key.name, key.partition, kept)
        world.pending.overtaken((key.group_id, key.name, key.partition))
    world.reply(token, {"topics": answers})


def offset_records(
    world: ShardState, request: Any, version: int, check: PartitionCheck, expires_ms: int
) -> tuple[list[dict[str, Any]], list[tuple[RecordKey, CommittedOffset]]]:
    """The answer for each topic, and what is to be written of those that may be."""
    answers: dict[object, dict[str, Any]] = {}  # a topic named twice is answered once
    records: list[tuple[RecordKey, CommittedOffset]] = []
    for topic in request.topics:
        name, topic_id, problem = _resolve(world, topic, version)
        count = world.topics.partition_count(name) or 0
        answer = answers.setdefault(name or topic_id, _topic_answer(topic, [], version))
        for partition in topic.partitions:
            number, metadata = partition.partition_index, partition.committed_metadata or ""
            code = problem
            if code is ErrorCode.NONE and not 0 <= number < count:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if code is ErrorCode.NONE and (
                len(metadata) > world.config.offset_metadata_max_bytes or is_too_long(metadata)
            ):
                code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            if code is ErrorCode.NONE:
                code = check(name, number)
            if code is ErrorCode.NONE:
                kept = CommittedOffset(
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    metadata,
                    world.wall.stamp_ms,
                    expires_ms,
                    topic_id if expires_ms == NO_EXPIRY else ZERO_UUID,  # version 1 has no place for it
                )
                records.append((RecordKey(Kind.OFFSET, request.group_id, name, number), kept))
            answer["partitions"].append({"partition_index": number, "error_code": int(code)})
    return list(answers.values()), records


def commit_refusal(request: Any, version: int, code: ErrorCode) -> dict[str, Any]:
    return {
        "topics": [
            _topic_answer(
                topic,
                [{"partition_index": part.partition_index, "error_code": int(code)} for part in topic.partitions],
                version,
            )
            for topic in request.topics
        ]
    }


def _topic_answer(topic: Any, partitions: list[dict[str, int]], version: int) -> dict[str, Any]:
    if version >= _TOPIC_IDS_SINCE:
        return {"topic_id": topic.topic_id, "partitions": partitions}
    return {"name": topic.name, "partitions": partitions}


def _resolve(world: ShardState, topic: Any, version: int) -> tuple[str, bytes, ErrorCode]:
    if version >= _TOPIC_IDS_SINCE:
        name = world.topics.topic_name(topic.topic_id)
        if name is None:
            return "", topic.topic_id, ErrorCode.UNKNOWN_TOPIC_ID
        return name, topic.topic_id, ErrorCode.NONE
    topic_id = world.topics.topic_id(topic.name)
    if topic_id is None:
        return topic.name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return topic.name, topic_id, ErrorCode.NONE


def may_commit(
    world: ShardState, request: Any, version: int, generation: int, *, transactional: bool = False
) -> PartitionCheck:
    """Raises KafkaError when this client may not commit for the group; else tells which partitions it may."""
    group = world.groups.get(request.group_id)
    if group is None:
        if generation >= 0:
            unknown = version >= _EPOCHS_SINCE and not transactional
            code = ErrorCode.GROUP_ID_NOT_FOUND if unknown else ErrorCode.ILLEGAL_GENERATION
            raise KafkaError(code, f"there is no group {request.group_id!r}")
        world.groups[request.group_id] = ClassicGroup(request.group_id, world.wall.stamp_ms)
        return _any_partition
    if isinstance(group, ClassicGroup):
        _check_classic(world, group, request, generation, transactional)
        return _any_partition
    if transactional and generation < 0 and not request.member_id:
        return _any_partition
    if not transactional:
        return group.check_commit(world, request.member_id, request.group_instance_id, generation, version)
    # TxnOffsetCommit has no version that came with the new members' epochs, and no code for a stale one.
    try:
        check = group.check_commit(world, request.member_id, request.group_instance_id, generation, _EPOCHS_SINCE)
    except KafkaError as error:
        raise KafkaError(_without_stale(error.code), error.message) from None
    return lambda topic, partition: _without_stale(check(topic, partition))


def _without_stale(code: ErrorCode) -> ErrorCode:
    return ErrorCode.ILLEGAL_GENERATION if code is ErrorCode.STALE_MEMBER_EPOCH else code


def _check_classic(world: ShardState, group: ClassicGroup, request: Any, generation: int, transactional: bool) -> None:
    if generation < 0 and group.is_empty:
        return
    if generation < 0 and not request.member_id and request.group_instance_id is None:
        if transactional:  # older clients do not say who they are; their producer's epoch fences them
            return
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"group {group.group_id!r} has members, only they commit")
    member = group.known_member(request.member_id, request.group_instance_id)
    if generation != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION, f"the group is in generation {group.generation}")
    if group.state is ClassicState.COMPLETING:
        # Whoever owns the partition in the new generation may already have been told to begin elsewhere.
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS, "the group is being assigned")
    heard_from(world, group, member)


def _any_partition(topic: str, partition: int) -> ErrorCode:
    return ErrorCode.NONE

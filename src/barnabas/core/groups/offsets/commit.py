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

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.core.coordinator.contract import RequestInfo
from barnabas.core.groups.classic.group import ClassicGroup, ClassicState
from barnabas.core.groups.classic.rebalance import heard_from
from barnabas.core.groups.lengths import is_too_long
from barnabas.core.groups.records.keys import Kind, RecordKey
from barnabas.core.groups.records.offset_commit import NO_EXPIRY, CommittedOffset
from barnabas.core.groups.shard_state import ShardState
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import ZERO_UUID

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        OffsetCommitRequest,
        OffsetCommitRequestPartition,
        OffsetCommitRequestTopic,
        OffsetCommitResponseBody,
        OffsetCommitResponsePartitionBody,
        OffsetCommitResponseTopicBody,
        TxnOffsetCommitRequest,
        TxnOffsetCommitRequestPartition,
    )

_TOPIC_IDS_SINCE = 10
_EPOCHS_SINCE = 9
_RETENTION_UNTIL = 4
_LATEST_MS = 2**63 - 1  # what the record can carry

# Says whether this member may commit this partition; the group's answer to "who are you" is already given.
PartitionCheck = Callable[[str, int], ErrorCode]


class TopicOffsets(NamedTuple):
    """What a request commits for one topic; `name` is empty when nobody knows the id."""

    name: str
    topic_id: bytes
    problem: ErrorCode
    partitions: Sequence[OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition]


PartitionCodes = list[tuple[int, ErrorCode]]


def commit_offsets(world: ShardState, request: OffsetCommitRequest, info: RequestInfo) -> OffsetCommitResponseBody:
    version = info.api_version
    check = may_commit(world, request, version, request.generation_id_or_member_epoch)
    expires_ms = NO_EXPIRY
    if version <= _RETENTION_UNTIL and request.retention_time_ms >= 0:
        expires_ms = min(world.wall.stamp_ms + request.retention_time_ms, _LATEST_MS)
    by_id = version >= _TOPIC_IDS_SINCE
    topics = (
        _by_id(world, topic) if by_id else by_name(world, topic.name, topic.partitions) for topic in request.topics
    )
    answers, records = offset_records(world, request.group_id, topics, check, expires_ms)
    for key, kept in records:
        world.write(key, kept.encode())
        world.offsets.put(key.group_id, key.name, key.partition, kept)
        world.pending.overtaken((key.group_id, key.name, key.partition))
    return {"topics": [_answer(by_id, topic.name, topic.topic_id, codes) for topic, codes in answers]}


def offset_records(
    world: ShardState, group_id: str, topics: Iterable[TopicOffsets], check: PartitionCheck, expires_ms: int
) -> tuple[list[tuple[TopicOffsets, PartitionCodes]], list[tuple[RecordKey, CommittedOffset]]]:
    """The codes for each topic's partitions, and what is to be written of those that may be."""
    answers: dict[str | bytes, tuple[TopicOffsets, PartitionCodes]] = {}  # a topic named twice is answered once
    records: list[tuple[RecordKey, CommittedOffset]] = []
    for topic in topics:
        name, topic_id = topic.name, topic.topic_id
        count = world.topics.partition_count(name) or 0
        _, codes = answers.setdefault(name or topic_id, (topic, []))
        for partition in topic.partitions:
            number, metadata = partition.partition_index, partition.committed_metadata or ""
            code = topic.problem
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
                records.append((RecordKey(Kind.OFFSET, group_id, name, number), kept))
            codes.append((number, code))
    return list(answers.values()), records


def commit_refusal(request: OffsetCommitRequest, version: int, code: ErrorCode) -> OffsetCommitResponseBody:
    by_id = version >= _TOPIC_IDS_SINCE
    return {
        "topics": [
            _answer(by_id, topic.name, topic.topic_id, [(part.partition_index, code) for part in topic.partitions])
            for topic in request.topics
        ]
    }


def _answer(by_id: bool, name: str, topic_id: bytes, codes: PartitionCodes) -> OffsetCommitResponseTopicBody:
    partitions = partition_items(codes)
    return {"topic_id": topic_id, "partitions": partitions} if by_id else {"name": name, "partitions": partitions}


def partition_items(codes: PartitionCodes) -> list[OffsetCommitResponsePartitionBody]:
    return [{"partition_index": number, "error_code": int(code)} for number, code in codes]


def _by_id(world: ShardState, topic: OffsetCommitRequestTopic) -> TopicOffsets:
    name = world.topics.topic_name(topic.topic_id)
    problem = ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.NONE
    return TopicOffsets(name or "", topic.topic_id, problem, topic.partitions)


def by_name(
    world: ShardState,
    name: str,
    partitions: Sequence[OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition],
) -> TopicOffsets:
    topic_id = world.topics.topic_id(name)
    problem = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic_id is None else ErrorCode.NONE
    return TopicOffsets(name, topic_id or ZERO_UUID, problem, partitions)


def may_commit(
    world: ShardState,
    request: OffsetCommitRequest | TxnOffsetCommitRequest,
    version: int,
    generation: int,
    *,
    transactional: bool = False,
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


def _check_classic(
    world: ShardState,
    group: ClassicGroup,
    request: OffsetCommitRequest | TxnOffsetCommitRequest,
    generation: int,
    transactional: bool,
) -> None:
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

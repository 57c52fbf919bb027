"""TxnOffsetCommit (0-5): the offsets a transaction read from, committed with what it wrote, or not at all (KIP-98).

| version | added |
|---|---|
| 2 | the leader epoch of the offset |
| 3 | the member and its generation, so that a zombie of the group is refused (KIP-447) |
| 5 | the coordinator adds the group's partition to the transaction by itself (KIP-890; the driver does) |

The records go to the log as part of the transaction; the marker that ends it decides whether they count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.core.coordinator.contract import RequestInfo
from barnabas.core.groups.offsets.commit import by_name, may_commit, offset_records, partition_items
from barnabas.core.groups.records.keys import Kind, decode_key
from barnabas.core.groups.records.offset_commit import NO_EXPIRY, decode_offset
from barnabas.core.groups.records.primitives import RecordError
from barnabas.core.groups.shard_state import ShardState
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.wire.messages import TxnOffsetCommitRequest, TxnOffsetCommitResponseBody


def commit_in_transaction(
    world: ShardState, request: TxnOffsetCommitRequest, info: RequestInfo
) -> TxnOffsetCommitResponseBody:
    check = may_commit(world, request, info.api_version, request.generation_id, transactional=True)
    world.transaction = (request.producer_id, request.producer_epoch)
    topics = (by_name(world, topic.name, topic.partitions) for topic in request.topics)
    answers, records = offset_records(world, request.group_id, topics, check, NO_EXPIRY)
    for key, kept in records:
        world.write(key, kept.encode())
        world.pending.add(request.producer_id, (key.group_id, key.name, key.partition), kept)
    return {"topics": [{"name": topic.name, "partitions": partition_items(codes)} for topic, codes in answers]}


def txn_commit_refusal(request: TxnOffsetCommitRequest, code: ErrorCode) -> TxnOffsetCommitResponseBody:
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": partition_items([(part.partition_index, code) for part in topic.partitions]),
            }
            for topic in request.topics
        ]
    }


def transaction_ended(world: ShardState, producer_id: int, commit: bool) -> None:
    """A marker of this producer is in our log."""
    for (group_id, topic, partition), kept in world.pending.end(producer_id, commit):
        world.offsets.put(group_id, topic, partition, kept)


def replay_transactional(world: ShardState, producer_id: int, key: bytes, value: bytes | None) -> str | None:
    """A record of a transaction, from the log; a reason when it had to be skipped."""
    try:
        parsed = decode_key(key)
        if parsed is None or parsed.kind not in (Kind.OFFSET, Kind.LEGACY_OFFSET) or value is None:
            return "a record that no transaction writes"
        world.pending.add(producer_id, (parsed.group_id, parsed.name, parsed.partition), decode_offset(value))
    except RecordError as error:
        return str(error)
    return None

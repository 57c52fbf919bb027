"""TxnOffsetCommit (28), versions 0-5: offsets that count when the transaction they belong to is committed.

Clients of the old generation have named the group before (AddOffsetsToTxn), and that is verified; from v5 on the
group's partition is added to the transaction here (KIP-890).

Versions: 1 throttling by the client (KIP-219), 2 leader epochs (KIP-320), 3 flexible, and the member with its
generation (KIP-447), 4 TRANSACTION_ABORTABLE, 5 adds the group's partition to the transaction (KIP-890).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from barnabas.broker.api.permissions import (
    READ,
    TOPIC,
    TOPIC_REFUSED,
    WRITE,
    may,
    require_group,
    require_transactional_id,
)
from barnabas.broker.api.transaction_verification import begin, overtaken
from barnabas.broker.network.context import RequestContext
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import OFFSETS_TOPIC, TopicPartition

if TYPE_CHECKING:
    from barnabas.broker.api.roles import TxnOffsetsNode
    from barnabas.wire.messages import TxnOffsetCommitRequest, TxnOffsetCommitResponseBody

_ENLISTS_SINCE = 5


async def handle(
    node: TxnOffsetsNode, request: TxnOffsetCommitRequest, context: RequestContext
) -> TxnOffsetCommitResponseBody:
    require_transactional_id(node, context, WRITE, request.transactional_id)
    require_group(node, context, READ, request.group_id)
    topics = [topic for topic in request.topics if may(node, context, READ, TOPIC, topic.name)]
    if len(topics) == len(request.topics):
        return await _committed(node, request, context)
    refused = _refused(
        replace(request, topics=[topic for topic in request.topics if topic not in topics]), TOPIC_REFUSED
    )
    answer = await _committed(node, replace(request, topics=topics), context) if topics else refused
    return refused if answer is refused else {"topics": [*refused["topics"], *answer["topics"]]}


async def _committed(
    node: TxnOffsetsNode, request: TxnOffsetCommitRequest, context: RequestContext
) -> TxnOffsetCommitResponseBody:
    if not request.group_id:
        return _refused(request, ErrorCode.INVALID_GROUP_ID)
    try:
        hosted = node.groups.hosted_for(request.group_id)
        code = await _enlist(node, request, context, hosted.partition.id)
    except KafkaError as error:
        code = int(error.code)
    if code:
        return _refused(request, code)
    answer = node.groups.ask(request.group_id, request, context)
    return await answer if isinstance(answer, asyncio.Future) else answer


async def _enlist(
    node: TxnOffsetsNode, request: TxnOffsetCommitRequest, context: RequestContext, partition: TopicPartition
) -> int:
    """The offsets' partition must belong to the transaction before its records do."""
    producer = (request.producer_id, request.producer_epoch)
    hosted = node.partitions.get(OFFSETS_TOPIC, partition.partition)
    if hosted is None:
        return int(ErrorCode.NOT_COORDINATOR)
    opened = hosted.open()
    if opened.producers.has_open_transaction(*producer):
        return 0
    verify_only = context.api_version < _ENLISTS_SINCE
    noted = begin(opened, producer, epoch_rises=not verify_only)
    done = await node.transactions.enlist(request.transactional_id, producer, [partition], verify_only=verify_only)
    code = int(done[partition])
    if not code and (error := overtaken(opened, noted)):
        moved = error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        code = int(ErrorCode.NOT_COORDINATOR if moved else error.code)
    if code == ErrorCode.PRODUCER_FENCED:
        return int(ErrorCode.INVALID_PRODUCER_EPOCH)
    if code == ErrorCode.TRANSACTION_ABORTABLE and context.api_version < _ENLISTS_SINCE - 1:
        return int(ErrorCode.INVALID_TXN_STATE)  # what a client that does not know the newer code understands
    return code


def _refused(request: TxnOffsetCommitRequest, code: int) -> TxnOffsetCommitResponseBody:
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [{"partition_index": p.partition_index, "error_code": code} for p in topic.partitions],
            }
            for topic in request.topics
        ]
    }

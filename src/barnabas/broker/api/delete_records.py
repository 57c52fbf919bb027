"""DeleteRecords (21), versions 0-2: everything before an offset is gone for good. -1 means up to the high watermark.

With followers the answer waits until their logs begin there too (those that are up), or the time is over: a record that
was deleted must not come back with the next leader.

Versions: 1 throttling by the client (KIP-219), 2 flexible.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.api.leadership import leader_partition
from barnabas.broker.api.permissions import DELETE, TOPIC, may, refused
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.broker.partition.opened import OpenPartition
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import PartitionsNode
    from barnabas.wire.messages import (
        DeleteRecordsPartition,
        DeleteRecordsPartitionResultBody,
        DeleteRecordsRequest,
        DeleteRecordsResponseBody,
    )

_SEGMENTS_AT_ONCE = 16


async def handle(
    node: PartitionsNode, request: DeleteRecordsRequest, context: RequestContext
) -> DeleteRecordsResponseBody:
    deadline = asyncio.get_running_loop().time() + max(request.timeout_ms, 0) / 1000
    budget = LoopBudget()
    begun: list[tuple[int, _Deletion | KafkaError]] = []
    for topic in request.topics:
        for asked in topic.partitions:
            if may(node, context, DELETE, TOPIC, topic.name):
                begun.append((asked.partition_index, await _begin(node, topic.name, asked, budget)))
            else:
                begun.append((asked.partition_index, refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
            await budget.pause()
    answers = []
    for index, deletion in begun:  # the followers of all of them have been asked: the time is over for all at once
        answers.append(await _finish(index, deletion, deadline))
        await budget.pause()
    answer = iter(answers)
    return {
        "topics": [
            {"name": topic.name, "partitions": [next(answer) for _ in topic.partitions]} for topic in request.topics
        ]
    }


class _Deletion(NamedTuple):
    """Done here, perhaps not yet by the followers."""

    partition: OpenPartition
    outcome: asyncio.Future[ErrorCode]


async def _begin(
    node: PartitionsNode, topic: str, asked: DeleteRecordsPartition, budget: LoopBudget
) -> _Deletion | KafkaError:
    """Our own log begins at the offset afterwards, and the followers have been told."""
    try:
        partition = leader_partition(node, topic, asked.partition_index)
        if partition.config.link:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "a link fills the topic: records are deleted at its source")
        opened = partition.open()
        log = opened.log
        if "delete" not in log.config.cleanup_policy:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "records of a topic that is only compacted are not deleted")
        offset = opened.high_watermark if asked.offset == -1 else asked.offset
        if not 0 <= offset <= opened.high_watermark:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        while log.log_start_offset < offset:  # a step at a time: three files are renamed for each segment
            if partition.deleted or not partition.is_leader:
                raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"this node no longer leads {partition.id}")
            bases = log.bases
            more = len(bases) > _SEGMENTS_AT_ONCE and bases[_SEGMENTS_AT_ONCE] < offset
            log.advance_log_start(bases[_SEGMENTS_AT_ONCE] if more else offset)
            node.upkeep.checkpoint_soon()
            await budget.pause()
        outcome: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        if opened.low_watermark() >= offset:
            outcome.set_result(ErrorCode.NONE)
        else:
            partition.leadership.when_deleted(offset, partial(_settle, outcome))
        return _Deletion(opened, outcome)
    except KafkaError as error:
        return error


def _settle(outcome: asyncio.Future[ErrorCode], code: ErrorCode) -> None:
    if not outcome.done():
        outcome.set_result(code)


async def _finish(index: int, deletion: _Deletion | KafkaError, deadline: float) -> DeleteRecordsPartitionResultBody:
    low_watermark = -1
    if isinstance(deletion, KafkaError):
        code = deletion.code
    else:
        code = await _outcome(deletion, deadline)
        if code is ErrorCode.NONE:
            low_watermark = deletion.partition.low_watermark()
    return {"partition_index": index, "low_watermark": low_watermark, "error_code": int(code)}


async def _outcome(deletion: _Deletion, deadline: float) -> ErrorCode:
    if deletion.outcome.done():
        return deletion.outcome.result()
    try:
        async with asyncio.timeout_at(deadline):
            return await deletion.outcome
    except TimeoutError:
        return ErrorCode.REQUEST_TIMED_OUT

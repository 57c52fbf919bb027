"""ListOffsets (2), versions 1-11: where a reader that knows a time, or only "the beginning", should start.

v2 isolation level, v4 leader epochs, v7 -3 the newest timestamp (KIP-734), v8 -4 the earliest local offset (KIP-405),
v9 -5 the latest tiered offset (KIP-1005), v10 a timeout, v11 -6 the earliest offset not yet uploaded (KIP-1023).
Nothing is tiered here, so the earliest local offset is the earliest, and there is no tiered one.

Nodes ask each other how old the record at an offset is (broker/metrics/lag.py): with their own id as `replica_id` and
AT_OFFSET - OFFSET in place of a time. Clients cannot mean that by any time of theirs.

A look-up by time reads files and may decompress a batch: in a thread. Many partitions are looked at a few at a time:
the first question opens the folder of each, except where nothing was ever written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.broker.api.leadership import check_leader_epoch, leader_partition
from barnabas.broker.api.permissions import DESCRIBE, TOPIC, may
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.damage import Damaged
from barnabas.storage.time_lookup import timestamp_at
from barnabas.wire.errors import ProtocolError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import PartitionsNode
    from barnabas.wire.messages import (
        ListOffsetsPartition,
        ListOffsetsPartitionResponseBody,
        ListOffsetsRequest,
        ListOffsetsResponseBody,
        ListOffsetsTopic,
        ListOffsetsTopicResponseBody,
    )

log = logging.getLogger(__name__)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
AT_OFFSET = -(1 << 62)
_NEEDS_NO_LOG = (LATEST, EARLIEST, EARLIEST_LOCAL)  # of a partition that has no record yet
READ_COMMITTED = 1
_NOT_AVAILABLE_SINCE = 5
_SINCE_VERSION = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}


_AT_ONCE = 32  # partitions answered without letting others run: opening one takes about 0.15 ms
_SEARCHES_PER_JOB = 64  # look-ups by time that a thread does before cold reads of others get their turn


@dataclass(slots=True)
class _Search:
    """A look-up by time that waits for a thread."""

    partition: OpenPartition
    leader_epoch: int
    timestamp: int
    bound: int  # the answer lies below it
    answer: ListOffsetsPartitionResponseBody  # to be filled in


def handle(
    node: PartitionsNode, request: ListOffsetsRequest, context: RequestContext
) -> Answered[ListOffsetsResponseBody]:
    asked = 0
    for topic in request.topics:
        asked += len(topic.partitions)
    if asked > _AT_ONCE:
        return _answer_in_turns(node, request, context)
    searches: list[_Search] = []
    topics: list[ListOffsetsTopicResponseBody] = [
        {
            "name": topic.name,
            "partitions": [
                _answer(node, topic.name, part, context, request, count > 1, searches)
                for part, count in _named(node, topic, context)
            ],
        }
        for topic in request.topics
    ]
    return _searched(node, searches, topics) if searches else {"topics": topics}


async def _answer_in_turns(
    node: PartitionsNode, request: ListOffsetsRequest, context: RequestContext
) -> ListOffsetsResponseBody:
    budget, searches = LoopBudget(), list[_Search]()
    topics: list[ListOffsetsTopicResponseBody] = []
    for topic in request.topics:
        answers = []
        for part, count in _named(node, topic, context):
            answers.append(_answer(node, topic.name, part, context, request, count > 1, searches))
            await budget.pause()
        topics.append({"name": topic.name, "partitions": answers})
    return await _searched(node, searches, topics)


async def _searched(
    node: PartitionsNode, searches: list[_Search], topics: list[ListOffsetsTopicResponseBody]
) -> ListOffsetsResponseBody:
    loop = asyncio.get_running_loop()
    for start in range(0, len(searches), _SEARCHES_PER_JOB):
        job = searches[start : start + _SEARCHES_PER_JOB]
        found = await loop.run_in_executor(node.read_threads, _search_all, job)
        for search, outcome in zip(job, found, strict=True):
            _fill_in(search, outcome)
    return {"topics": topics}


def _named(
    node: PartitionsNode, topic: ListOffsetsTopic, context: RequestContext
) -> list[tuple[ListOffsetsPartition, int]]:
    """Each partition once, unless nothing is told of them anyway."""
    if not may(node, context, DESCRIBE, TOPIC, topic.name):
        return [(partition, 1) for partition in topic.partitions]
    return _once_each(topic.partitions)


def _once_each(partitions: Sequence[ListOffsetsPartition]) -> list[tuple[ListOffsetsPartition, int]]:
    """Each partition once, and how often it was asked for."""
    if len(partitions) == 1:
        return [(partitions[0], 1)]
    asked: dict[int, tuple[ListOffsetsPartition, int]] = {}
    for partition in partitions:
        _, count = asked.get(partition.partition_index, (partition, 0))
        asked[partition.partition_index] = (partition, count + 1)
    return list(asked.values())


def _answer(
    node: PartitionsNode,
    topic: str,
    asked: ListOffsetsPartition,
    context: RequestContext,
    request: ListOffsetsRequest,
    twice: bool,
    searches: list[_Search],
) -> ListOffsetsPartitionResponseBody:
    """The answer, or one that will be filled in by the search that is added."""
    isolation_level, replica_id = request.isolation_level, request.replica_id
    try:
        if not may(node, context, DESCRIBE, TOPIC, topic):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        if twice:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "the partition is asked for twice")
        if asked.timestamp < 0 and context.api_version < _SINCE_VERSION.get(asked.timestamp, 0):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        partition = leader_partition(node, topic, asked.partition_index)
        check_leader_epoch(partition, asked.current_leader_epoch)
        if partition.untouched and asked.timestamp in _NEEDS_NO_LOG:
            return _at(asked.partition_index, -1, 0, partition.leader_epoch)
        opened = partition.open()
        if replica_id >= 0:
            bound = opened.log.log_end_offset
        else:
            bound = opened.last_stable_offset if isolation_level == READ_COMMITTED else opened.high_watermark
            _check_watermark_known(partition, asked.timestamp, context.api_version)
        at_offset = replica_id >= 0 and asked.timestamp <= AT_OFFSET
        if asked.timestamp >= 0 or asked.timestamp == MAX_TIMESTAMP or at_offset:
            answer: ListOffsetsPartitionResponseBody = {"partition_index": asked.partition_index}
            searches.append(_Search(opened, partition.leader_epoch, asked.timestamp, bound, answer))
            return answer
        timestamp, offset, epoch = _known(opened, asked.timestamp, bound)
    except KafkaError as error:
        return {"partition_index": asked.partition_index, "error_code": int(error.code)}
    return _at(asked.partition_index, timestamp, offset, epoch)


def _at(partition: int, timestamp: int, offset: int, epoch: int) -> ListOffsetsPartitionResponseBody:
    return {
        "partition_index": partition,
        "error_code": 0,
        "timestamp": timestamp,
        "offset": offset,
        "leader_epoch": epoch,
    }


def _found(answer: ListOffsetsPartitionResponseBody, timestamp: int, offset: int, epoch: int) -> None:
    answer["error_code"], answer["timestamp"], answer["offset"], answer["leader_epoch"] = 0, timestamp, offset, epoch


def _check_watermark_known(partition: HostedPartition, timestamp: int, version: int) -> None:
    """A new leader does not know yet how far its predecessor had committed: "the end" would go back (KIP-207)."""
    state = partition.leadership.state
    if state is not None and timestamp in (LATEST, MAX_TIMESTAMP) and state.high_watermark < state.epoch_start_offset:
        since = ErrorCode.OFFSET_NOT_AVAILABLE if version >= _NOT_AVAILABLE_SINCE else ErrorCode.LEADER_NOT_AVAILABLE
        raise KafkaError(since, "the high watermark is not known yet")


def _known(opened: OpenPartition, timestamp: int, bound: int) -> tuple[int, int, int]:
    """What needs no search."""
    own = opened.log
    match timestamp:
        case -1:
            return -1, bound, opened.partition.leader_epoch
        case -2 | -4:
            return -1, own.log_start_offset, own.epochs.epoch_for(own.log_start_offset)
        case -5 | -6:
            return -1, -1, -1
        case _:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"no meaning is known for timestamp {timestamp}")


Outcome = tuple[int, int, int] | None | OSError | Damaged | ProtocolError


def _search_all(searches: list[_Search]) -> list[Outcome]:
    """In a thread."""
    return [_search(search) for search in searches]


def _search(search: _Search) -> Outcome:
    own = search.partition.log
    try:
        if search.timestamp == MAX_TIMESTAMP:
            return own.max_timestamp_offset()
        if search.timestamp <= AT_OFFSET:
            return timestamp_at(own, max(AT_OFFSET - search.timestamp, own.log_start_offset))
        return own.offset_for_timestamp(search.timestamp)
    except KafkaError:  # an offset that is not in the log (any more)
        return None
    except (OSError, Damaged, ProtocolError) as error:
        return error


def _fill_in(search: _Search, outcome: Outcome) -> None:
    partition, answer = search.partition.partition, search.answer
    if partition.deleted:
        answer["error_code"] = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    elif not partition.is_leader or partition.leader_epoch != search.leader_epoch:
        answer["error_code"] = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)  # what was read may have been cut meanwhile
    elif isinstance(outcome, Exception):
        log.warning("%s cannot be searched by time: %s", partition.id, outcome)
        if isinstance(outcome, Damaged):
            partition.found_damaged(outcome)
        answer["error_code"] = int(ErrorCode.KAFKA_STORAGE_ERROR)
    elif outcome is None or outcome[1] >= search.bound:
        _found(answer, -1, -1, -1)
    else:
        _found(answer, *outcome)

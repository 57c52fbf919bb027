"""Produce (0), versions 3-13: append one batch to each partition named, in place, without copying a record.

The usual request (one partition, nothing to wait for) takes a short way: parse, append, pack the answer. Everything
else (several partitions, errors, an ack that waits for an fsync or for replicas) takes the general one. With acks=0
there is no answer; an error then closes the connection, so that the client notices and looks for the leader again.

The first batch of a transaction in a partition is checked with the coordinator first: clients of the old generation
must have named the partition, for newer ones (v12 on) it is added here (KIP-890). Later batches find it open.
"""

import asyncio
import functools
import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from barnabas.broker.api.leadership import leader_partition
from barnabas.broker.api.produce_transactions import News, enlist, new_to_transaction
from barnabas.broker.clock import wall_ms
from barnabas.broker.connection import Reply
from barnabas.broker.partition import Appended, HostedPartition
from barnabas.broker.partition_config import InvalidRecords
from barnabas.model.errors import ErrorCode, KafkaError, RefusedBatch
from barnabas.model.ids import INTERNAL_TOPICS, TopicPartition
from barnabas.wire.errors import ProtocolError
from barnabas.wire.headers import encode_response_frame
from barnabas.wire.produce import (
    ProduceRequest,
    SingleProduce,
    parse_produce,
    parse_single,
    produce_success_frame,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node

log = logging.getLogger(__name__)

API_KEY = 0
NO_ACK, ACK_ALL = 0, -1
_UNUSUAL = b""  # what the short way gives when the general one has to be taken


def handle(
    node: "Node", frame: memoryview, position: int, version: int, correlation_id: int
) -> "Reply | Awaitable[Reply]":
    single = parse_single(frame, position, version)
    if single is not None:
        reply = _append_single(node, frame, single, version, correlation_id)
        if reply is not _UNUSUAL:
            return reply
    request = parse_produce(frame, position, version)
    if request.transactional_id is not None and (news := new_to_transaction(node, frame, request, version)):
        copied = memoryview(bytearray(frame))  # the receive buffer is used again before the coordinator has answered
        return _after_enlisting(node, copied, request, news, version, correlation_id)
    return _handle(node, frame, request, version, correlation_id)


def _append_single(
    node: "Node", frame: memoryview, single: SingleProduce, version: int, correlation_id: int
) -> "Reply | asyncio.Future[Reply]":
    """The short way. Whatever it does not answer it has not done either, and the general way finds out why."""
    acks, _, name, topic_id, index, start, end = single
    topic = name if name is not None else node.image.topic_names.get(topic_id or b"")
    partition = node.partitions.get(topic, index) if topic is not None else None
    if partition is None or not -1 <= acks <= 1 or topic in INTERNAL_TOPICS:
        return _UNUSUAL
    if partition.under_min_isr and acks == ACK_ALL:
        return _UNUSUAL
    try:
        appended = partition.append(frame, start, end, wall_ms(), version)
    except KafkaError:
        return _UNUSUAL
    if acks == NO_ACK:
        return None
    if acks == ACK_ALL and partition.high_watermark < appended.next_offset:
        return _Waiting(partition, appended, single, version, correlation_id).future
    return produce_success_frame(
        version,
        correlation_id,
        name,
        topic_id,
        index,
        appended.base_offset,
        partition.log.log_start_offset,
        appended.log_append_time_ms,
    )


async def _after_enlisting(
    node: "Node", frame: memoryview, request: ProduceRequest, news: News, version: int, correlation_id: int
) -> Reply:
    refused = await enlist(node, request, news, version)
    reply = _handle(node, frame, request, version, correlation_id, refused)
    return await reply if isinstance(reply, asyncio.Future) else reply


def _handle(
    node: "Node",
    frame: memoryview,
    request: ProduceRequest,
    version: int,
    correlation_id: int,
    refused: dict[TopicPartition, KafkaError] | None = None,
) -> "Reply | asyncio.Future[Reply]":
    results = [
        _append(node, frame, request, version, name, topic_id, index, start, end, refused)
        for name, topic_id, partitions in request.topics
        for index, start, end in partitions
    ]
    if request.acks == NO_ACK:
        _close_on_error(results)
        return None
    waiting = [
        (partition, appended.next_offset)
        for partition, appended in (found for found in results if type(found) is tuple)
        if partition.high_watermark < appended.next_offset
    ]
    if request.acks == ACK_ALL and waiting:
        return _answer_when_committed(request, results, waiting, version, correlation_id)
    return _answer(request, results, version, correlation_id)


class _Refused:
    """A batch that was not appended, and where the log begins if the partition got to see it."""

    __slots__ = ("error", "log_start_offset")

    def __init__(self, error: KafkaError, log_start_offset: int) -> None:
        # Where it was raised is of no use here, and would keep what was opened there (a bomb's bytes) in a cycle.
        error.__traceback__ = error.__context__ = None
        self.error = error
        self.log_start_offset = log_start_offset


Found = tuple[HostedPartition, Appended] | _Refused


def _append(
    node: "Node",
    frame: memoryview,
    request: ProduceRequest,
    version: int,
    name: str | None,
    topic_id: bytes | None,
    index: int,
    start: int,
    end: int,
    refused: dict[TopicPartition, KafkaError] | None,
) -> Found:
    partition = None
    try:
        if name is None:
            name = node.image.topic_names.get(topic_id or b"")
            if name is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        partition = node.partitions.get(name, index)
        if partition is None:
            partition = leader_partition(node, name, index)
        if request.acks not in (-1, 0, 1):
            raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
        if start < 0:
            raise KafkaError(ErrorCode.INVALID_RECORD, "no records")
        if name in INTERNAL_TOPICS and not node.may_write_internal:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name} is written by the node itself")
        if refused and partition.id in refused:
            raise refused[partition.id]
        if request.acks == ACK_ALL and partition.under_min_isr:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, f"too few replicas of {partition.id} are in sync")
        transactional = request.transactional_id is not None
        return partition, partition.append(frame, start, end, wall_ms(), version, transactional)
    except RefusedBatch as error:
        return _Refused(error, partition.log.log_start_offset if partition is not None else -1)
    except KafkaError as error:
        return _Refused(error, -1)


def _answer(request: ProduceRequest, results: list[Found], version: int, correlation_id: int) -> bytes:
    found = iter(results)
    body = {
        "responses": [
            {
                "name": name or "",
                "topic_id": topic_id or bytes(16),
                "partition_responses": [_item(index, next(found)) for index, _, _ in partitions],
            }
            for name, topic_id, partitions in request.topics
        ]
    }
    return encode_response_frame(API_KEY, version, correlation_id, body)


def _item(index: int, found: Found) -> dict[str, Any]:
    if isinstance(found, _Refused):
        error = found.error
        records = error.record_errors if isinstance(error, InvalidRecords) else []
        return {
            "index": index,
            "error_code": int(error.code),
            "base_offset": -1,
            "log_append_time_ms": -1,
            "log_start_offset": found.log_start_offset,
            "record_errors": [
                {"batch_index": position, "batch_index_error_message": reason} for position, reason in records
            ],
            "error_message": error.message,
        }
    partition, appended = found
    return {
        "index": index,
        "error_code": 0,
        "base_offset": appended.base_offset,
        "log_append_time_ms": appended.log_append_time_ms,
        "log_start_offset": partition.log.log_start_offset,
    }


def _answer_when_committed(
    request: ProduceRequest,
    results: list[Found],
    waiting: list[tuple[HostedPartition, int]],
    version: int,
    correlation_id: int,
) -> "asyncio.Future[Reply]":
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Reply] = loop.create_future()
    left = len(waiting)

    def finish(late: bool = False) -> None:
        if future.done():
            return
        timer.cancel()
        if late:
            _mark_late(results)
        future.set_result(_answer(request, results, version, correlation_id))

    def committed(partition: HostedPartition, code: ErrorCode) -> None:
        nonlocal left
        left -= 1
        if code is not ErrorCode.NONE:
            _mark(results, partition, code)
        if not left:
            finish()

    timer = loop.call_later(max(request.timeout_ms, 0) / 1000, finish, True)
    for partition, offset in waiting:
        partition.when_committed(offset, functools.partial(committed, partition))
    return future


class _Waiting:
    """The usual request while its one batch is not committed yet."""

    __slots__ = ("_appended", "_correlation_id", "_partition", "_single", "_timer", "_version", "future")

    def __init__(
        self,
        partition: HostedPartition,
        appended: Appended,
        single: SingleProduce,
        version: int,
        correlation_id: int,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Reply] = loop.create_future()
        self._partition, self._appended, self._single = partition, appended, single
        self._version, self._correlation_id = version, correlation_id
        self._timer = loop.call_later(max(single[1], 0) / 1000, self._late)
        partition.when_committed(appended.next_offset, self._committed)

    def _committed(self, code: ErrorCode) -> None:
        if self.future.done():
            return
        self._timer.cancel()
        if code is not ErrorCode.NONE:
            self._refuse(code, "the leader has changed")
            return
        _, _, name, topic_id, index, _, _ = self._single
        appended = self._appended
        self.future.set_result(
            produce_success_frame(
                self._version,
                self._correlation_id,
                name,
                topic_id,
                index,
                appended.base_offset,
                self._partition.log.log_start_offset,
                appended.log_append_time_ms,
            )
        )

    def _late(self) -> None:
        if not self.future.done():
            self._refuse(ErrorCode.REQUEST_TIMED_OUT, "not committed in time")

    def _refuse(self, code: ErrorCode, why: str) -> None:
        acks, timeout_ms, name, topic_id, index, start, end = self._single
        request = ProduceRequest(None, acks, timeout_ms, [(name, topic_id, [(index, start, end)])])
        refused: list[Found] = [_Refused(KafkaError(code, why), -1)]
        self.future.set_result(_answer(request, refused, self._version, self._correlation_id))


def _mark(results: list[Found], partition: HostedPartition, code: ErrorCode) -> None:
    for i, found in enumerate(results):
        if type(found) is tuple and found[0] is partition:
            results[i] = _Refused(KafkaError(code, "the leader has changed"), -1)


def _mark_late(results: list[Found]) -> None:
    for i, found in enumerate(results):
        if type(found) is tuple and found[0].high_watermark < found[1].next_offset:
            results[i] = _Refused(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "not committed in time"), -1)


def _close_on_error(results: list[Found]) -> None:
    for found in results:
        if isinstance(found, _Refused):
            raise ProtocolError(f"a produce with acks=0 failed: {found.error.code.name}: {found.error.message}")

"""Produce (0), versions 3-13: append one batch to each partition named, in place, without copying a record.

The usual request (one partition, nothing to wait for) takes a short way: parse, append, pack the answer. Everything
else (several partitions, errors, an ack that waits for an fsync or for replicas) takes the general one. With acks=0
there is no answer; an error then closes the connection, so that the client notices and looks for the leader again.

A batch whose records have to be looked at (wire/record_validation.py) may take long, and so may a request for thousands
of partitions. Both go on in a coroutine, on a copy of what is left of the frame, with other connections served in
between.

The first batch of a transaction in a partition is checked with the coordinator first: clients of the old generation
must have named the partition, for newer ones (v12 on) it is added here (KIP-890). Later batches find it open.

Versions: 4 KAFKA_STORAGE_ERROR, 5 the log start offset, 6 throttling by the client (KIP-219), 7 zstd (KIP-110), 8
errors of single records (KIP-467), 9 flexible, 10 the current leader (KIP-951), 11 TRANSACTION_ABORTABLE, 12 adds
partitions to the transaction (KIP-890), 13 topics by id (KIP-516).
"""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from barnabas.broker import clock
from barnabas.broker.api.permissions import TRANSACTIONAL_ID, WRITE, refused
from barnabas.broker.api.produce_appends import ACK_ALL, Appends, Found, Refused
from barnabas.broker.api.produce_transactions import News, enlist, has_transactional, new_to_transaction
from barnabas.broker.clock import wall_ms
from barnabas.broker.controller.contact import CommitWait, ControllerContact, Deadline
from barnabas.broker.network.connection import Reply
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.broker.network.session import Session
from barnabas.broker.partition.config import TakesLong
from barnabas.broker.partition.leader_appends import Appended
from barnabas.broker.partition.opened import OpenPartition
from barnabas.model.errors import ErrorCode, InvalidRecords, KafkaError
from barnabas.model.ids import INTERNAL_TOPICS, TopicPartition
from barnabas.wire.errors import ProtocolError
from barnabas.wire.headers import encode_response_frame
from barnabas.wire.produce.answer import Item, produce_success_answer, produce_success_frame
from barnabas.wire.produce.request import ProduceRequest, SingleProduce, parse_produce, parse_single

if TYPE_CHECKING:
    from barnabas.broker.access import Access
    from barnabas.broker.api.roles import ProduceNode
    from barnabas.wire.messages import PartitionProduceResponseBody, ProduceResponseBody

log = logging.getLogger(__name__)

API_KEY = 0
NO_ACK = 0
_BATCHES_AT_ONCE = 500  # of one request, appended before other connections are served: 5 ms, where nothing is opened
_BATCHES_A_LOOK = 16  # between two looks at the clock: the first append to a partition opens its log, about 1 ms
_TURN_SECONDS = 0.005
_ANSWERED_ON_LOOP = 1_000  # partitions; a longer answer is made by a thread (15,000 refused ones take 40 ms)


def handle(
    node: "ProduceNode", session: Session, frame: memoryview, position: int, version: int, correlation_id: int
) -> "Reply | Awaitable[Reply]":
    """The short way. Whatever it does not answer it has not done either, and the general way finds out why."""
    single = parse_single(frame, position, version)
    if single is None:
        return _handle_any(node, session, frame, position, version, correlation_id)
    acks, _, name, topic_id, index, start, end = single
    topic = name if name is not None else node.image.topic_names.get(topic_id or b"")
    partition = node.partitions.get(topic, index) if topic is not None else None
    if (
        partition is None
        or not -1 <= acks <= 1
        or topic in INTERNAL_TOPICS
        or node.disk_space.ran_out
        or (partition.leadership.under_min_isr and acks == ACK_ALL)
        or (node.access is not None and not node.access.may_write(session, partition.id.topic))
    ):
        return _handle_any(node, session, frame, position, version, correlation_id)
    try:
        opened = partition.opened or partition.open()
        appended = opened.appends.append(frame, start, end, int(clock.source.time() * 1000), version)
    except (KafkaError, TakesLong):
        return _handle_any(node, session, frame, position, version, correlation_id)
    if acks == NO_ACK:
        return None
    if acks == ACK_ALL and opened.high_watermark < appended.next_offset:
        return _Waiting(node.lifecycle.contact, opened, appended, single, version, correlation_id).future
    return produce_success_frame(
        version,
        correlation_id,
        name,
        topic_id,
        index,
        appended.base_offset,
        opened.log.log_start_offset,
        appended.log_append_time_ms,
    )


def _handle_any(
    node: "ProduceNode", session: Session, frame: memoryview, position: int, version: int, correlation_id: int
) -> "Reply | Awaitable[Reply]":
    request = parse_produce(frame, position, version)
    if node.access is not None and not _may_use_transaction(node.access, session, frame, request):
        return _refuse_all(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, version, correlation_id)
    if request.transactional_id is not None and (news := new_to_transaction(node, session, frame, request, version)):
        copied = memoryview(bytearray(frame))  # the receive buffer is used again before the coordinator has answered
        return _after_enlisting(node, session, copied, request, news, version, correlation_id)
    return _handle(node, session, frame, request, version, correlation_id)


def _may_use_transaction(access: "Access", session: Session, frame: memoryview, request: ProduceRequest) -> bool:
    """Records of a transaction take WRITE on its id."""
    name = request.transactional_id
    if name is not None and access.allows(session, WRITE, TRANSACTIONAL_ID, name):
        return True
    if not has_transactional(frame, request.topics):
        return True
    return access.requires(session, API_KEY, WRITE, TRANSACTIONAL_ID, name or "")


def _refuse_all(request: ProduceRequest, code: ErrorCode, version: int, correlation_id: int) -> Reply:
    results: list[Found] = [Refused(refused(code), -1) for _, _, partitions in request.topics for _ in partitions]
    if request.acks == NO_ACK:
        _close_on_error(results)
        return None
    return _answer(request, results, version, correlation_id)


async def _after_enlisting(
    node: "ProduceNode",
    session: Session,
    frame: memoryview,
    request: ProduceRequest,
    news: News,
    version: int,
    correlation_id: int,
) -> Reply:
    not_enlisted = await enlist(node, request, news, version)
    reply = _handle(node, session, frame, request, version, correlation_id, not_enlisted)
    return await reply if isinstance(reply, Awaitable) else reply


def _handle(
    node: "ProduceNode",
    session: Session,
    frame: memoryview,
    request: ProduceRequest,
    version: int,
    correlation_id: int,
    not_enlisted: dict[TopicPartition, KafkaError] | None = None,
) -> "Reply | Awaitable[Reply]":
    work = Appends(node, session, request, version, not_enlisted)
    batches = work.batches
    if len(batches) > _BATCHES_AT_ONCE:
        return _later(node, work, frame, 0, correlation_id)
    now_ms = wall_ms()
    some, until = batches, 0.0
    if len(batches) > _BATCHES_A_LOOK:
        some, until = batches[:_BATCHES_A_LOOK], clock.source.monotonic() + _TURN_SECONDS
    while some:
        for batch in some:
            try:
                work.append(frame, batch, now_ms)
            except TakesLong:
                return _later(node, work, frame, batch[3], correlation_id)
        done = len(work.results)
        if done < len(batches) and clock.source.monotonic() >= until:
            return _later(node, work, frame, 0, correlation_id)
        some = batches[done : done + _BATCHES_A_LOOK]
    return _answer_appended(work, correlation_id)


def _later(node: "ProduceNode", work: Appends, frame: memoryview, start: int, correlation_id: int) -> Awaitable[Reply]:
    """What is left of the batches, which begin at `start`, while other connections are served."""
    work.expect_delay(frame)
    return _go_on(node, work, memoryview(bytearray(frame[start:])), start, correlation_id)


async def _go_on(node: "ProduceNode", work: Appends, frame: memoryview, moved_by: int, correlation_id: int) -> Reply:
    """What is left of the batches, in order. `frame` is ours, and its first `moved_by` bytes are not there."""
    budget = LoopBudget()
    for name, topic_id, index, start, end in work.batches[len(work.results) :]:
        batch = (name, topic_id, index, start - moved_by if start >= 0 else start, end - moved_by)
        try:
            work.append(frame, batch, wall_ms())
        except TakesLong as long:
            await work.append_validated(frame, batch, long.header)
        await budget.pause()
    if len(work.batches) > _ANSWERED_ON_LOOP and work.request.acks != NO_ACK:
        return await _answer_many(node, work, correlation_id)
    reply = _answer_appended(work, correlation_id)
    return await reply if isinstance(reply, asyncio.Future) else reply


async def _answer_many(node: "ProduceNode", work: Appends, correlation_id: int) -> Reply:
    request, results, version = work.request, work.results, work.version
    await asyncio.sleep(0)
    if request.acks == ACK_ALL and (waiting := _not_committed(results)):
        await _answer_when_committed(work, waiting, correlation_id, _nothing_yet)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(node.read_threads, _answer, request, results, version, correlation_id)


def _nothing_yet(request: ProduceRequest, results: list[Found], version: int, correlation_id: int) -> bytes:
    """In place of an answer that a thread makes."""
    return b""


def _answer_appended(work: Appends, correlation_id: int) -> "Reply | asyncio.Future[Reply]":
    request, results, version = work.request, work.results, work.version
    if request.acks == NO_ACK:
        _close_on_error(results)
        return None
    if request.acks == ACK_ALL and (waiting := _not_committed(results)):
        return _answer_when_committed(work, waiting, correlation_id)
    return _answer(request, results, version, correlation_id)


def _not_committed(results: list[Found]) -> list[tuple[int, OpenPartition, int]]:
    """Which of the results have to wait (by number), for which partition's high watermark to reach what."""
    return [
        (number, found[0], found[1].next_offset)
        for number, found in enumerate(results)
        if type(found) is tuple and found[0].high_watermark < found[1].next_offset
    ]


def _answer(request: ProduceRequest, results: list[Found], version: int, correlation_id: int) -> bytes:
    topics = _all_appended(request, results)
    if topics is not None:
        return produce_success_answer(version, correlation_id, topics)
    found = iter(results)
    body: ProduceResponseBody = {
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


def _all_appended(
    request: ProduceRequest, results: list[Found]
) -> list[tuple[str | None, bytes | None, list[Item]]] | None:
    """What the usual answer says of each topic; None when a batch was refused."""
    topics = []
    number = 0
    for name, topic_id, partitions in request.topics:
        items = []
        for index, _, _ in partitions:
            found = results[number]
            number += 1
            if type(found) is not tuple:
                return None
            partition, (base_offset, _, log_append_time_ms) = found
            items.append((index, base_offset, log_append_time_ms, partition.log.log_start_offset))
        topics.append((name, topic_id, items))
    return topics


def _item(index: int, found: Found) -> "PartitionProduceResponseBody":
    if isinstance(found, Refused):
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
    work: Appends,
    waiting: list[tuple[int, OpenPartition, int]],
    correlation_id: int,
    answer: Callable[[ProduceRequest, list[Found], int, int], bytes] = _answer,
) -> "asyncio.Future[Reply]":
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Reply] = loop.create_future()
    request, results = work.request, work.results
    left = len(waiting)

    def finish() -> None:
        if not future.done():
            deadline.cancel()
            future.set_result(answer(request, results, work.version, correlation_id))

    def late(error: KafkaError) -> None:
        for number, _, _ in _not_committed(results):
            results[number] = Refused(error, -1)
        finish()

    def committed(number: int, code: ErrorCode) -> None:
        nonlocal left
        left -= 1
        if code is not ErrorCode.NONE:
            results[number] = Refused(KafkaError(code, "the leader has changed"), -1)
        if not left:
            finish()

    deadline = Deadline(work.contact, request.timeout_ms, late)
    for number, partition, offset in waiting:
        partition.when_committed(offset, functools.partial(committed, number))
    return future


class _Waiting(CommitWait):
    """The usual request while its one batch is not committed yet."""

    __slots__ = ("_appended", "_correlation_id", "_partition", "_single", "_version", "future")

    def __init__(
        self,
        contact: ControllerContact,
        partition: OpenPartition,
        appended: Appended,
        single: SingleProduce,
        version: int,
        correlation_id: int,
    ) -> None:
        self.future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._partition, self._appended, self._single = partition, appended, single
        self._version, self._correlation_id = version, correlation_id
        super().__init__(contact, single[1])
        partition.when_committed(appended.next_offset, self._committed)

    def _committed(self, code: ErrorCode) -> None:
        if self.future.done():
            return
        self._timer.cancel()
        if code is not ErrorCode.NONE:
            self._late(KafkaError(code, "the leader has changed"))
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

    def _late(self, error: KafkaError) -> None:
        if self.future.done():
            return
        acks, timeout_ms, name, topic_id, index, start, end = self._single
        request = ProduceRequest(None, acks, timeout_ms, [(name, topic_id, [(index, start, end)])])
        result: list[Found] = [Refused(error, -1)]
        self.future.set_result(_answer(request, result, self._version, self._correlation_id))


def _close_on_error(results: list[Found]) -> None:
    for found in results:
        if isinstance(found, Refused):
            raise ProtocolError(f"a produce with acks=0 failed: {found.error.code.name}: {found.error.message}")

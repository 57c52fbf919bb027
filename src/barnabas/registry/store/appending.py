"""Appends records to the topic in transactions of one transactional id.

Whoever takes the id (InitProducerId) gets a newer epoch, and every later request of the one before is refused, in the
coordinator and at the partition: two can never write at once, however long one of them was asleep. What the one before
had begun is finished first, one way or the other.

Nothing is tried again once records are on their way: the caller takes the id anew, reads what became of them, and
decides again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.browse.topic_log import TopicLog
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.codes import is_retriable, name_of
from barnabas.link.errors import LinkDown, LoginFailed, UnknownApi
from barnabas.link.view import TRANSACTION_KEY
from barnabas.model.errors import ErrorCode
from barnabas.registry.errors import too_large
from barnabas.wire.apis import ADD_PARTITIONS_TO_TXN, END_TXN, INIT_PRODUCER_ID, PRODUCE
from barnabas.wire.records import Headers, build_batch
from barnabas.wire.records import Record as WireRecord

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        AddPartitionsToTxnResponse,
        EndTxnResponse,
        InitProducerIdResponse,
        ProduceResponse,
    )

_INIT_NEWEST, _ADD_NEWEST, _END_NEWEST, _PRODUCE_NEWEST = 4, 3, 3, 9  # later ones ask for transactions of another kind
_TRANSACTION_MS = 30_000  # then the coordinator aborts it; whoever takes the id next does not wait for that
_ANSWER_S = 10.0
_TAKE_S = 20.0  # a coordinator may have to move first, or to finish what the one before left
_PAUSE_S = 0.05
_SHORT_PAUSE_S = 0.002  # for the coordinator to finish the transaction before
_BATCH_BYTES = 512 * 1024
_FENCED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
_TOO_LARGE = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
_PARTITION = 0


class WriterLost(Exception):
    """Records may or may not have been written. `fenced`: another one has taken the id."""

    def __init__(self, reason: str, *, fenced: bool = False) -> None:
        super().__init__(reason)
        self.fenced = fenced


@dataclass(frozen=True, slots=True)
class Appended:
    key: bytes
    value: bytes | None
    headers: Headers = ()


class Appender:
    def __init__(self, nodes: AsyncNodes, topic: str, transactional_id: str) -> None:
        self._nodes = nodes
        self._log = TopicLog(nodes, topic)
        self._id = transactional_id
        self._producer_id, self._epoch, self._sequence = -1, -1, 0

    @property
    def topic_id(self) -> bytes:
        return self._log.topic_id

    async def take(self) -> None:
        """The id is ours when this returns."""
        deadline = time.monotonic() + _TAKE_S
        body = {"transactional_id": self._id, "transaction_timeout_ms": _TRANSACTION_MS}
        while True:
            try:
                await self._log.open()
                answer: InitProducerIdResponse = await self._ask_coordinator(INIT_PRODUCER_ID, body, _INIT_NEWEST)
                code = answer.error_code
                if code == ErrorCode.NONE:
                    self._producer_id, self._epoch, self._sequence = answer.producer_id, answer.producer_epoch, 0
                    return
                reason = name_of(code)
                passing = is_retriable(code)
            except LinkDown as problem:
                reason, passing = str(problem), True
            except (LoginFailed, UnknownApi) as problem:
                reason, passing = str(problem), False
            self._nodes.view.forget_coordinator(TRANSACTION_KEY, self._id)
            if not passing or time.monotonic() > deadline:
                raise WriterLost(f"transactional id {self._id} was not given: {reason}")
            await asyncio.sleep(_PAUSE_S)

    async def append(self, records: Sequence[Appended]) -> int:
        """The offset of the last one, when the transaction is committed: all of them or none. WriterLost when that is
        not known, or not so."""
        try:
            await self._add_partition()
            last = -1
            for batch in _batches(records):
                last = await self._produce(batch)
            await self._commit()
            return last
        except (LinkDown, LoginFailed, UnknownApi) as problem:
            raise WriterLost(str(problem)) from None

    async def _add_partition(self) -> None:
        body = {
            "v3_and_below_transactional_id": self._id,
            "v3_and_below_producer_id": self._producer_id,
            "v3_and_below_producer_epoch": self._epoch,
            "v3_and_below_topics": [{"name": self._log.topic, "partitions": [_PARTITION]}],
        }
        deadline = time.monotonic() + _ANSWER_S
        while True:
            answer: AddPartitionsToTxnResponse = await self._ask_coordinator(ADD_PARTITIONS_TO_TXN, body, _ADD_NEWEST)
            code = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            if code != ErrorCode.CONCURRENT_TRANSACTIONS or time.monotonic() > deadline:
                _check(code)
                return
            await asyncio.sleep(_SHORT_PAUSE_S)

    async def _produce(self, records: Sequence[Appended]) -> int:
        now_ms = int(time.time() * 1000)
        batch = build_batch(
            [WireRecord(at, now_ms, each.key, each.value, each.headers) for at, each in enumerate(records)],
            leader_epoch=-1,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=self._sequence,
            transactional=True,
        )
        leader = self._nodes.view.leader(self._log.topic, _PARTITION)
        if leader is None:
            await self._log.look_up_again()
            leader = self._nodes.view.leader(self._log.topic, _PARTITION)
            if leader is None:
                raise WriterLost(f"nobody leads {self._log.topic}-{_PARTITION}")
        data = [{"index": _PARTITION, "records": bytes(batch)}]
        body = {
            "transactional_id": self._id,
            "acks": -1,
            "timeout_ms": int(_ANSWER_S * 1000),
            "topic_data": [{"name": self._log.topic, "partition_data": data}],
        }
        answer: ProduceResponse = await self._nodes.ask(leader.node_id, PRODUCE, body, _PRODUCE_NEWEST, _ANSWER_S + 2)
        told = answer.responses[0].partition_responses[0]
        if told.error_code in _TOO_LARGE:
            raise too_large(f"topic {self._log.topic} takes no record as large as this: see its max.message.bytes")
        if told.error_code != ErrorCode.NONE:
            self._nodes.view.forget_leader(self._log.topic, _PARTITION)
        _check(told.error_code)
        self._sequence += len(records)
        return told.base_offset + len(records) - 1

    async def _commit(self) -> None:
        body = {
            "transactional_id": self._id,
            "producer_id": self._producer_id,
            "producer_epoch": self._epoch,
            "committed": True,
        }
        answer: EndTxnResponse = await self._ask_coordinator(END_TXN, body, _END_NEWEST)
        _check(answer.error_code)

    async def _ask_coordinator(self, api_key: int, body: dict[str, object], newest: int):  # type: ignore[no-untyped-def]
        node = self._nodes.view.coordinator(TRANSACTION_KEY, self._id)
        if node is None:
            failed = await self._nodes.find_coordinators(TRANSACTION_KEY, [self._id])
            node = self._nodes.view.coordinator(TRANSACTION_KEY, self._id)
            if node is None:
                raise LinkDown(f"no coordinator of transactions: {name_of(failed.get(self._id, -1))}")
        try:
            return await self._nodes.ask(node, api_key, body, newest, _ANSWER_S)
        except LinkDown:
            self._nodes.view.forget_coordinator(TRANSACTION_KEY, self._id)
            raise


def _check(code: int) -> None:
    if code != ErrorCode.NONE:
        raise WriterLost(name_of(code), fenced=code in _FENCED)


def _batches(records: Sequence[Appended]) -> Iterator[list[Appended]]:
    batch: list[Appended] = []
    size = 0
    for each in records:
        weight = len(each.key) + len(each.value or b"") + 100
        if batch and size + weight > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += weight
    if batch:
        yield batch

"""Asking the transaction coordinator on another node: AddPartitionsToTxn (24) as leaders of partitions send it.

KIP-890. A few requests are on their way to a node at a time, each on a connection of its own; what comes while all of
them wait leaves together with the next. One connection would not do: an answer waits for the coordinator's fsync, or
for the markers of the transaction before, and the questions of all other producers would wait behind it. Where no
answer comes the producer is told to try again, and by then the metadata says who coordinates.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.broker.peers.table import Peers
from barnabas.link.errors import LinkDown
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.model.limits import ENLISTINGS_PER_REQUEST_MAX
from barnabas.wire.apis import ADD_PARTITIONS_TO_TXN

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        AddPartitionsToTxnRequestBody,
        AddPartitionsToTxnResponse,
        AddPartitionsToTxnResult,
        AddPartitionsToTxnTransaction,
        AddPartitionsToTxnTransactionBody,
    )

BROKERS_VERSION = 5  # of AddPartitionsToTxn, as leaders of partitions ask it
_ANSWER_TIMEOUT_MS = 5_000
_LANES = 3  # connections to one coordinator's node
Lane = tuple[int, int]  # broker, number
Codes = dict[TopicPartition, ErrorCode]
_CODES = {int(code): code for code in ErrorCode}


class RemoteCoordinators:
    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._queues: dict[int, list[tuple[AddPartitionsToTxnTransaction, asyncio.Future[Codes]]]] = {}
        self._tasks: dict[Lane, asyncio.Task[None]] = {}

    def enlist(self, broker_id: int, item: AddPartitionsToTxnTransaction) -> asyncio.Future[Codes]:
        """One transaction of AddPartitionsToTxn, and what became of each of its partitions."""
        answer: asyncio.Future[Codes] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(broker_id, []).append((item, answer))
        lane = next((lane for n in range(_LANES) if (lane := (broker_id, n)) not in self._tasks), None)
        if lane is not None:
            self._tasks[lane] = asyncio.ensure_future(self._drain(lane))
        return answer

    async def _drain(self, lane: Lane) -> None:
        queue = self._queues[lane[0]]
        batch: list[tuple[AddPartitionsToTxnTransaction, asyncio.Future[Codes]]] = []
        try:
            while queue:
                batch = queue[:ENLISTINGS_PER_REQUEST_MAX]
                del queue[:ENLISTINGS_PER_REQUEST_MAX]
                try:
                    results = await self._ask(lane, [item for item, _ in batch])
                except (OSError, KafkaError) as error:
                    _fail(batch, str(error))
                    continue
                for (_, answer), result in zip(batch, results, strict=True):
                    if not answer.done():
                        answer.set_result(result)
        finally:
            del self._tasks[lane]
            _fail(batch, "the node stops")  # those that were answered are left as they are

    async def _ask(self, lane: Lane, items: list[AddPartitionsToTxnTransaction]) -> list[Codes]:
        connection = await self._peers.connection(lane[0], f"transactions-{lane[1]}")
        body: AddPartitionsToTxnRequestBody = {"transactions": [_body(item) for item in items]}
        answer: AddPartitionsToTxnResponse = await connection.ask(
            ADD_PARTITIONS_TO_TXN, BROKERS_VERSION, body, _ANSWER_TIMEOUT_MS
        )
        if answer.error_code:
            raise KafkaError(ErrorCode(answer.error_code))
        if len(answer.results_by_transaction) != len(items):
            raise LinkDown("an answer to something else")
        return [_codes(result) for result in answer.results_by_transaction]

    def close(self) -> None:
        for task in list(self._tasks.values()):
            task.cancel()
        for queue in self._queues.values():
            _fail(queue, "the node stops")
            queue.clear()


def _fail(batch: Iterable[tuple[object, asyncio.Future[Codes]]], why: str) -> None:
    for _, answer in batch:
        if not answer.done():
            answer.set_exception(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, why))
            answer.exception()  # a producer that has gone away is not complained about


def _body(item: AddPartitionsToTxnTransaction) -> AddPartitionsToTxnTransactionBody:
    return {
        "transactional_id": item.transactional_id,
        "producer_id": item.producer_id,
        "producer_epoch": item.producer_epoch,
        "verify_only": item.verify_only,
        "topics": [{"name": topic.name, "partitions": topic.partitions} for topic in item.topics],
    }


def _codes(result: AddPartitionsToTxnResult) -> Codes:
    return {
        TopicPartition(topic.name, item.partition_index): _CODES.get(
            item.partition_error_code, ErrorCode.UNKNOWN_SERVER_ERROR
        )
        for topic in result.topic_results
        for item in topic.results_by_partition
    }

"""Asking the transaction coordinator on another node: AddPartitionsToTxn (24) as leaders of partitions send it.

KIP-890. Questions for the same node leave together: one request is on its way, what comes meanwhile waits for the next.
Where no answer comes the producer is told to try again, and by then the metadata says who coordinates.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from barnabas.broker.peers import PeerGone
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import ENLISTINGS_PER_REQUEST_MAX
from barnabas.wire.apis import ADD_PARTITIONS_TO_TXN

if TYPE_CHECKING:
    from barnabas.broker.node import Node

BROKERS_VERSION = 5  # of AddPartitionsToTxn, as leaders of partitions ask it
_ANSWER_TIMEOUT_MS = 5_000
Answer = dict[str, Any]


class RemoteCoordinators:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._queues: dict[int, list[tuple[Answer, asyncio.Future[Answer]]]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def enlist(self, broker_id: int, item: Answer) -> "asyncio.Future[Answer]":
        """One transaction of AddPartitionsToTxn; the answer has the shape of its `results_by_transaction`."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(broker_id, []).append((item, answer))
        if broker_id not in self._tasks:
            self._tasks[broker_id] = asyncio.ensure_future(self._drain(broker_id))
        return answer

    async def _drain(self, broker_id: int) -> None:
        queue = self._queues[broker_id]
        try:
            while queue:
                batch = queue[:ENLISTINGS_PER_REQUEST_MAX]
                del queue[:ENLISTINGS_PER_REQUEST_MAX]
                try:
                    results = await self._ask(broker_id, [item for item, _ in batch])
                except (OSError, KafkaError) as error:
                    _fail(batch, str(error))
                    continue
                for (_, answer), result in zip(batch, results, strict=True):
                    if not answer.done():
                        answer.set_result(result)
        finally:
            del self._tasks[broker_id]
            _fail(queue, "the node stops")
            queue.clear()

    async def _ask(self, broker_id: int, items: list[Answer]) -> list[Answer]:
        connection = await self._node.peers.connection(broker_id, "transactions")
        body = {"transactions": items}
        answer = await connection.ask(ADD_PARTITIONS_TO_TXN, BROKERS_VERSION, body, _ANSWER_TIMEOUT_MS)
        if answer.error_code:
            raise KafkaError(ErrorCode(answer.error_code))
        if len(answer.results_by_transaction) != len(items):
            raise PeerGone("an answer to something else")
        return [{"results_by_transaction": [_plain(result)]} for result in answer.results_by_transaction]

    def close(self) -> None:
        for task in list(self._tasks.values()):
            task.cancel()


def _fail(batch: list[tuple[Answer, "asyncio.Future[Answer]"]], why: str) -> None:
    for _, answer in batch:
        if not answer.done():
            answer.set_exception(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, why))
            answer.exception()  # a producer that has gone away is not complained about


def _plain(result: Any) -> Answer:
    return {
        "transactional_id": result.transactional_id,
        "topic_results": [
            {
                "name": topic.name,
                "results_by_partition": [
                    {"partition_index": item.partition_index, "partition_error_code": item.partition_error_code}
                    for item in topic.results_by_partition
                ],
            }
            for topic in result.topic_results
        ],
    }

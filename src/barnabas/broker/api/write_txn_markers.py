"""WriteTxnMarkers (27), versions 1-2: a coordinator ends transactions in partitions led here; v2 tells its version.

All markers of the request are appended first, then each partition is waited for: it answers when its marker is
committed, or with a code that makes the coordinator look for the leader again. Kafka's `kafka-transactions abort` sends
it too, to end a transaction that hangs.

Versions: 2 the transaction's version (KIP-1228).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import ALTER, CLUSTER_ACTION, require_on_cluster
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.core.partition.producers import Marker
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition

if TYPE_CHECKING:
    from barnabas.broker.api.roles import TransactionsNode
    from barnabas.broker.partition.opened import OpenPartition
    from barnabas.wire.messages import (
        WritableTxnMarker,
        WritableTxnMarkerPartitionResultBody,
        WritableTxnMarkerResultBody,
        WritableTxnMarkerTopicResultBody,
        WriteTxnMarkersRequest,
        WriteTxnMarkersResponseBody,
    )

_STRICT_VERSION = 2
_COMMIT_TIMEOUT_SECONDS = 5.0  # a partition that cannot commit for so long must not hold up the others


async def handle(
    node: TransactionsNode, request: WriteTxnMarkersRequest, context: RequestContext
) -> WriteTxnMarkersResponseBody:
    require_on_cluster(node, context, ALTER, CLUSTER_ACTION)
    waiting = _Waiting()
    budget = LoopBudget()
    markers = [await _one(node, item, waiting, budget) for item in request.markers]
    await waiting.wait()
    return {"markers": markers}


class _Waiting:
    """The partitions of one request that have not committed yet: each holds the item of the answer to complete."""

    def __init__(self) -> None:
        self._out = 0
        self._done = asyncio.Event()

    def add(self, item: WritableTxnMarkerPartitionResultBody, leader: OpenPartition, offset: int) -> None:
        self._out += 1
        leader.when_committed(offset, partial(self._settled, item))

    def _settled(self, item: WritableTxnMarkerPartitionResultBody, code: ErrorCode) -> None:
        item["error_code"] = int(code)
        self._out -= 1
        if not self._out:
            self._done.set()

    async def wait(self) -> None:
        if self._out:
            self._done.clear()
            with suppress(TimeoutError):  # those that are still out say so already
                async with asyncio.timeout(_COMMIT_TIMEOUT_SECONDS):
                    await self._done.wait()


async def _one(
    node: TransactionsNode, item: WritableTxnMarker, waiting: _Waiting, budget: LoopBudget
) -> WritableTxnMarkerResultBody:
    """Each partition once, however often it is named, and others are served in between."""
    marker = Marker(
        item.producer_id,
        item.producer_epoch,
        item.coordinator_epoch,
        item.transaction_result,
        strictly_newer=item.transaction_version >= _STRICT_VERSION,
    )
    topics: list[WritableTxnMarkerTopicResultBody] = []
    for topic in item.topics:
        partitions = []
        for index in dict.fromkeys(topic.partition_indexes):
            partitions.append(_write(node, TopicPartition(topic.name, index), marker, waiting))
            await budget.pause()
        topics.append({"name": topic.name, "partitions": partitions})
    return {"producer_id": item.producer_id, "topics": topics}


def _write(
    node: TransactionsNode, partition: TopicPartition, marker: Marker, waiting: _Waiting
) -> WritableTxnMarkerPartitionResultBody:
    answer: WritableTxnMarkerPartitionResultBody = {
        "partition_index": partition.partition,
        "error_code": int(ErrorCode.REQUEST_TIMED_OUT),
    }
    try:
        leader, offset = node.transactions.markers.write(partition, marker)
    except KafkaError as error:
        answer["error_code"] = int(error.code)
    else:
        waiting.add(answer, leader, offset)
    return answer

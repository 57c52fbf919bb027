"""DescribeProducers (61), version 0: who writes to a partition, and who has a transaction open in it (KIP-664).

Any replica answers, as in Kafka: what a follower says is as old as its last fetch. A partition that is named twice is
answered once, and an answer has a limit, so that a small request cannot ask for a large part of the node's memory. A
long answer is encoded in a thread.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barnabas.broker.api.leadership import hosted_partition
from barnabas.broker.api.permissions import READ, TOPIC, may, refused
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import topic_name_problem
from barnabas.model.limits import DESCRIBED_PRODUCERS_MAX
from barnabas.wire.codec import encode_response

if TYPE_CHECKING:
    from barnabas.broker.api.roles import PartitionsNode
    from barnabas.wire.messages import (
        DescribeProducersRequest,
        DescribeProducersResponseBody,
        PartitionResponseBody,
        TopicResponseBody,
    )

_ENCODED_HERE_MAX = 2_000  # producers; encoding one takes about 3 us


async def handle(
    node: PartitionsNode, request: DescribeProducersRequest, context: RequestContext
) -> DescribeProducersResponseBody | bytes:
    budget, answered, count = LoopBudget(), set[tuple[str, int]](), 0
    topics: list[TopicResponseBody] = []
    for topic in request.topics:
        answers: list[PartitionResponseBody] = []
        for index in topic.partition_indexes:
            if (topic.name, index) in answered:
                continue
            answered.add((topic.name, index))
            answer = _describe(node, context, topic.name, index, DESCRIBED_PRODUCERS_MAX - count)
            count += len(answer.get("active_producers", ()))
            answers.append(answer)
            await budget.pause()
        topics.append({"name": topic.name, "partitions": answers})
    body: DescribeProducersResponseBody = {"topics": topics}
    if count <= _ENCODED_HERE_MAX:
        return body
    key, version = context.api_key, context.api_version
    return await asyncio.get_running_loop().run_in_executor(node.read_threads, encode_response, key, version, body)


def _describe(
    node: PartitionsNode, context: RequestContext, topic: str, index: int, most: int
) -> PartitionResponseBody:
    try:
        if problem := topic_name_problem(topic):
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
        if not may(node, context, READ, TOPIC, topic):
            raise refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        producers = hosted_partition(node, topic, index).open().producers
        if len(producers) > most:
            reason = f"more than {DESCRIBED_PRODUCERS_MAX} producers in one answer: ask for fewer partitions at once"
            raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
        entries = producers.entries()
    except KafkaError as error:
        return {"partition_index": index, "error_code": int(error.code), "error_message": error.message}
    return {
        "partition_index": index,
        "error_code": 0,
        "active_producers": [
            {
                "producer_id": entry.producer_id,
                "producer_epoch": entry.producer_epoch,
                "last_sequence": entry.last_sequence,
                "last_timestamp": entry.last_timestamp,
                "coordinator_epoch": entry.coordinator_epoch,
                "current_txn_start_offset": entry.current_txn_first_offset,
            }
            for entry in entries
        ],
    }

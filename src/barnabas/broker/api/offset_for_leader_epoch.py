"""OffsetForLeaderEpoch (23), versions 2-4: where an epoch ended, so that a reader finds out it has read too far.

KIP-101, KIP-320. The answer for an epoch that this log does not know is the end of the epoch before it.

Versions: 3 the replica that asks, 4 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.leadership import check_leader_epoch, leader_partition
from barnabas.broker.api.permissions import CLUSTER_ACTION, DESCRIBE, TOPIC, may, may_on_cluster
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import PartitionsNode
    from barnabas.wire.messages import (
        OffsetForLeaderEpochRequest,
        OffsetForLeaderEpochResponseBody,
        OffsetForLeaderEpochResponseEpochEndOffsetBody,
        OffsetForLeaderPartition,
        OffsetForLeaderTopicResultBody,
    )


async def handle(
    node: PartitionsNode, request: OffsetForLeaderEpochRequest, context: RequestContext
) -> OffsetForLeaderEpochResponseBody:
    budget = LoopBudget()
    of_node = may_on_cluster(node, context, CLUSTER_ACTION)
    topics: list[OffsetForLeaderTopicResultBody] = []
    for topic in request.topics:
        answers = []
        is_allowed = of_node or may(node, context, DESCRIBE, TOPIC, topic.topic)
        for asked in topic.partitions:
            answers.append(_answer(node, topic.topic, asked, is_allowed))
            await budget.pause()  # the first question opens the folder of a partition
        topics.append({"topic": topic.topic, "partitions": answers})
    return {"topics": topics}


def _answer(
    node: PartitionsNode, topic: str, asked: OffsetForLeaderPartition, is_allowed: bool
) -> OffsetForLeaderEpochResponseEpochEndOffsetBody:
    try:
        if not is_allowed:
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        partition = leader_partition(node, topic, asked.partition)
        check_leader_epoch(partition, asked.current_leader_epoch)
        own = partition.open().log
        epoch, end_offset = own.epochs.end_offset_for(asked.leader_epoch, own.log_end_offset)
    except KafkaError as error:
        return {"partition": asked.partition, "error_code": int(error.code)}
    return {"partition": asked.partition, "error_code": 0, "leader_epoch": epoch, "end_offset": end_offset}

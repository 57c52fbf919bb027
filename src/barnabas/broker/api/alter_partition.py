"""AlterPartition (56), versions 2-3: a leader tells the controller who is in sync (KIP-497), v3 with epochs (KIP-903).

Served by the active controller, for brokers. What is refused, and why, is in core/cluster/partitions/alterations.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster import AlteredPartition, PartitionAlteration
from barnabas.core.cluster.controller import Controller

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import (
        AlterPartitionRequest,
        AlterPartitionRequestPartitionData,
        AlterPartitionResponseBody,
        AlterPartitionResponsePartitionDataBody,
    )

_EPOCHS_SINCE = 3
_UNKNOWN_EPOCH = -1


async def handle(
    node: ControllerNode, request: AlterPartitionRequest, context: RequestContext
) -> AlterPartitionResponseBody:
    with_epochs = context.api_version >= _EPOCHS_SINCE
    wanted = [
        PartitionAlteration(
            topic.topic_id, item.partition_index, item.leader_epoch, item.partition_epoch, _isr(item, with_epochs)
        )
        for topic in request.topics
        for item in topic.partitions
    ]
    results = await node.controller.submit(Controller.alter_partition, request.broker_id, request.broker_epoch, wanted)
    topics: dict[bytes, list[AlterPartitionResponsePartitionDataBody]] = {
        topic.topic_id: [] for topic in request.topics
    }
    for result in results:
        topics[result.topic_id].append(_item(result))
    return {"error_code": 0, "topics": [{"topic_id": key, "partitions": items} for key, items in topics.items()]}


def _isr(item: AlterPartitionRequestPartitionData, with_epochs: bool) -> list[tuple[int, int]]:
    if with_epochs:
        return [(state.broker_id, state.broker_epoch) for state in item.new_isr_with_epochs]
    return [(broker_id, _UNKNOWN_EPOCH) for broker_id in item.new_isr]


def _item(result: AlteredPartition) -> AlterPartitionResponsePartitionDataBody:
    return {
        "partition_index": result.partition,
        "error_code": int(result.code),
        "leader_id": result.leader,
        "leader_epoch": result.leader_epoch,
        "isr": result.isr,
        "leader_recovery_state": 0,
        "partition_epoch": result.partition_epoch,
    }

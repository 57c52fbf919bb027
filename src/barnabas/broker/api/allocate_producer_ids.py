"""AllocateProducerIds (67), version 0: a block of producer ids for a broker, never given twice (KIP-730)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster.controller import Controller

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponseBody


async def handle(
    node: ControllerNode, request: AllocateProducerIdsRequest, context: RequestContext
) -> AllocateProducerIdsResponseBody:
    first, count = await node.controller.submit(
        Controller.allocate_producer_ids, request.broker_id, request.broker_epoch
    )
    return {"error_code": 0, "producer_id_start": first, "producer_id_len": count}

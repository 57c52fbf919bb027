"""UnregisterBroker (64), version 0: forget a broker that will not come back (KIP-500).

A broker that is up and has partitions is not forgotten: it would lose them while it serves them. (Kafka lets it
happen.) One that has been emptied may go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster.controller import Controller
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import AdminNode
    from barnabas.wire.messages import UnregisterBrokerRequest, UnregisterBrokerResponseBody


async def handle(
    node: AdminNode, request: UnregisterBrokerRequest, context: RequestContext
) -> UnregisterBrokerResponseBody:
    image, broker_id = node.image, request.broker_id
    if image.is_alive(broker_id) and next(iter(image.partitions_of(broker_id)), None) is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"broker {broker_id} is up and has partitions: drain it first")
    await node.controller.submit(Controller.unregister_broker, request.broker_id)
    return {"error_code": 0, "error_message": None}

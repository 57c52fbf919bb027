"""GetTelemetrySubscriptions (71), version 0: which metrics this client is to push, and how often (KIP-714).

A client that has no instance id yet is given one, which it keeps for its life, on all nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.metrics.telemetry import ReceivingNode, receiver_of
from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.wire.messages import GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponseBody


async def handle(
    node: ReceivingNode, request: GetTelemetrySubscriptionsRequest, context: RequestContext
) -> GetTelemetrySubscriptionsResponseBody:
    return await receiver_of(node).subscription(request, context)

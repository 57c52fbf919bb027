"""PushTelemetry (72), version 0: a client's own metrics, in OpenTelemetry's format, as its subscription asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.metrics.telemetry import ReceivingNode, receiver_of
from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.wire.messages import PushTelemetryRequest, PushTelemetryResponseBody


async def handle(
    node: ReceivingNode, request: PushTelemetryRequest, context: RequestContext
) -> PushTelemetryResponseBody:
    return await receiver_of(node).push(request, context)

"""BrokerHeartbeat (63), versions 0-2: a broker is there, wants to be unfenced, or wants to stop (KIP-631).

The connection it comes on is watched: when it closes, the broker is fenced at once (broker/controller/sessions.py).

Versions: 1 directories that failed (KIP-858), 2 cordoned directories (KIP-1066).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster.controller import Controller
from barnabas.core.cluster.items import Heartbeat

if TYPE_CHECKING:
    from barnabas.broker.api.roles import RegistrationNode
    from barnabas.wire.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponseBody


async def handle(
    node: RegistrationNode, request: BrokerHeartbeatRequest, context: RequestContext
) -> BrokerHeartbeatResponseBody:
    controller = node.controller
    controller.check_active()
    beat = Heartbeat(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        current_metadata_offset=request.current_metadata_offset,
        want_fence=request.want_fence,
        want_shutdown=request.want_shut_down,
    )
    result = await controller.submit(Controller.heartbeat, beat, node.clock.steady_ms())
    controller.sessions.broker_connected(request.broker_id, request.broker_epoch, context.session.connection)
    return {
        "error_code": 0,
        "is_caught_up": result.is_caught_up,
        "is_fenced": result.is_fenced,
        "should_shut_down": result.should_shut_down,
    }

"""BrokerRegistration (62), versions 0-4: a broker that starts asks the active controller for its epoch (KIP-631).

v2 names its data directories (KIP-858), v3 the epoch of its last life when that life ended in order, or was only
killed: its logs are then all there. Registered is not yet serving: a heartbeat unfences the broker when it has caught
up.

Versions: 1 brokers that migrate from ZooKeeper, 2 data directories (KIP-858), 3 the epoch before (KIP-966), 4 features
whose lowest level is 0 (KAFKA-17492).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.controller.lifecycle import SECURITY_PROTOCOLS
from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster.controller import Controller
from barnabas.core.cluster.items import Registration
from barnabas.core.cluster.records import Endpoint
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import RegistrationNode
    from barnabas.wire.messages import (
        BrokerRegistrationRequest,
        BrokerRegistrationRequestListener,
        BrokerRegistrationResponseBody,
    )


async def handle(
    node: RegistrationNode, request: BrokerRegistrationRequest, context: RequestContext
) -> BrokerRegistrationResponseBody:
    controller = node.controller
    controller.check_active()
    if request.cluster_id != node.cluster_id:
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, f"this is cluster {node.cluster_id}")
    if request.broker_id < 0 or not request.listeners:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a broker has an id and a listener")
    known = controller.machine.image.brokers.get(request.broker_id)
    registration = Registration(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        endpoints=tuple(_endpoint(listener) for listener in request.listeners),
        rack=request.rack,
        directories=tuple(request.log_dirs),
        features={f.name: (f.min_supported_version, f.max_supported_version) for f in request.features},
        fenced=True,
        clean=known is None or request.previous_broker_epoch == known.broker_epoch,
    )
    if not controller.sessions.connected(request.broker_id):
        controller.machine.sessions.forget(request.broker_id)  # nobody else with this id is there
    epoch = await controller.submit(Controller.register_broker, registration, node.clock.steady_ms())
    controller.sessions.broker_connected(request.broker_id, epoch, context.session.connection)
    return {"error_code": 0, "broker_epoch": epoch}


def _endpoint(listener: BrokerRegistrationRequestListener) -> Endpoint:
    known = 0 <= listener.security_protocol < len(SECURITY_PROTOCOLS)
    protocol = SECURITY_PROTOCOLS[listener.security_protocol] if known else "PLAINTEXT"
    return Endpoint(listener.name, protocol, listener.host, listener.port)

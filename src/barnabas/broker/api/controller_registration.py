"""ControllerRegistration (70), version 0: a controller says what it supports (KIP-919).

The voter set in the metadata log names the controllers and their addresses already, so there is nothing to write down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import ControllerRegistrationRequest, ControllerRegistrationResponseBody


def handle(
    node: ControllerNode, request: ControllerRegistrationRequest, context: RequestContext
) -> ControllerRegistrationResponseBody:
    node.controller.check_active()
    return {"error_code": 0, "error_message": None}

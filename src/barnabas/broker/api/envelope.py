"""Envelope (58), version 0: a request that another node was asked, handed on to the active controller (KIP-590).

The enclosed request is checked for the principal that the Envelope names. One that names none is a wish of the node
that sent it, and is checked for that node.

The answer travels back as it is, header included. A node that is not the active controller says so on the outside, so
that the one who handed it on looks for the right one.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from msgspec.structs import replace

from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.session import Session, principal_from
from barnabas.model.errors import KafkaError
from barnabas.wire.errors import ProtocolError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import EnvelopeNode
    from barnabas.wire.messages import EnvelopeRequest, EnvelopeResponseBody


async def handle(node: EnvelopeNode, request: EnvelopeRequest, context: RequestContext) -> EnvelopeResponseBody:
    try:
        node.controller.check_active()
        session = replace(context.session, of_node=True)
        if request.request_principal is not None:
            session = Session(_host(request), principal=principal_from(request.request_principal))
        answer = await node.dispatcher.handle_enveloped(memoryview(request.request_data), session)
    except KafkaError as error:
        return {"response_data": None, "error_code": int(error.code)}
    return {"response_data": answer, "error_code": 0}


def _host(request: EnvelopeRequest) -> str:
    try:
        found = ip_address(bytes(request.client_host_address))
        return str((found.version == 6 and found.ipv4_mapped) or found)  # as the rules of access name it
    except ValueError:
        if request.client_host_address:
            raise ProtocolError("an envelope with an address that is none") from None
        return ""

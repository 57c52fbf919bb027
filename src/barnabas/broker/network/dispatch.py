"""From a frame to its handler: read the header, check key and version, hand over, wrap the answer.

Produce and Fetch are handled on the raw frame (records are never copied out of it). Every other API has a module in
`api/` with `handle(node, request, context)`: it gives the body of the answer as a dict (or as bytes already encoded),
or an awaitable of one. A request that this node does not serve, or that does not decode, closes the connection: its
sender would not understand an answer either. ApiVersions is the one exception (KIP-511).

Who may ask is checked where a request is handled, not where it is handed on: by the API's row, or item by item in the
handler (api/permissions.py). A request in an Envelope is checked for the client that it came from.

What only the active controller can answer is handed on to it as it came (broker/controller/link.py). While
the node starts, the nodes of the cluster are served and everybody else waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from barnabas.broker import clock
from barnabas.broker.api import fetch, produce
from barnabas.broker.api.api_versions import unsupported_version_body
from barnabas.broker.api.failures import failure_body
from barnabas.broker.api.permissions import require_on_cluster
from barnabas.broker.controller.link import FORWARD_TIMEOUT_MS
from barnabas.broker.metrics.counts import ApiCounts, Errors
from barnabas.broker.network import large_requests
from barnabas.broker.network.connection import Connection, Reply
from barnabas.broker.network.context import B, RequestContext
from barnabas.broker.network.decoded_memory import DecodedMemory
from barnabas.broker.network.large_requests import Body
from barnabas.broker.network.session import Session
from barnabas.broker.quorum.answering import is_quorum_fetch
from barnabas.model.access import AclOperation
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import LARGE_REQUEST_BYTES
from barnabas.model.settings import ResourceType
from barnabas.wire import apis
from barnabas.wire.apis import API_VERSIONS, FETCH, PRODUCE, SERVED
from barnabas.wire.codec import decode_request, encode_response
from barnabas.wire.errors import ProtocolError
from barnabas.wire.headers import (
    encode_response_frame,
    read_request_header,
    response_frame,
    skim_request_header,
)

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ServingNode
    from barnabas.broker.audit.trail import AuditTrail
    from barnabas.broker.coordinator.driver import Coordinators
    from barnabas.broker.image_bus import ImageChange
    from barnabas.broker.network.faults import Fault
    from barnabas.broker.network.throttling import Throttling
    from barnabas.wire.messages import AlterConfigsRequest, IncrementalAlterConfigsRequest, Request

    # Each takes the role of the node that it uses (api/roles.py) and requests of its own type.
    Handler = Callable[[Any, Any, RequestContext], Body | Awaitable[Body]]

_PRODUCE_MIN, _PRODUCE_MAX = SERVED[PRODUCE].min_version, SERVED[PRODUCE].max_version
_BY_ID_SINCE = 13  # Fetch names topics by id

_CLUSTER_OPERATIONS = {api.key: api.access for api in SERVED.values() if isinstance(api.access, AclOperation)}
_CONFIGS = frozenset({apis.ALTER_CONFIGS, apis.INCREMENTAL_ALTER_CONFIGS})


class Dispatcher:
    def __init__(self, node: ServingNode, decoded_max_bytes: int) -> None:
        self._node = node
        self._decoded = DecodedMemory(decoded_max_bytes)
        self._handlers: dict[int, Handler] = {}
        self.errors = Errors()
        self.counts = {key: ApiCounts(api) for key, api in SERVED.items()}
        self._produce_counts = self.counts[PRODUCE]
        self.throttling: Throttling | None = None  # None: no client has a quota
        self._throttling: Throttling | None = None  # the same, once one had

    def handle(self, connection: Connection, frame: memoryview, counted: bool = False) -> Reply | Awaitable[Reply]:
        """One whole request, without its length. Raises ProtocolError when the connection has to be closed.

        `counted`: the client's quotas are seen to.
        """
        if self.throttling is not None and not counted:
            return self.throttling.handle(self, connection, frame)
        node = self._node
        api_key, version, correlation_id, position = skim_request_header(frame)
        if (
            api_key == PRODUCE
            and position >= 0
            and _PRODUCE_MIN <= version <= _PRODUCE_MAX
            and node.faults is None
            and node.is_open
        ):
            counts = self._produce_counts
            left = counts.left = counts.left - 1
            if left:
                return produce.handle(node, connection.session, frame, position, version, correlation_id)
            begun = clock.source.monotonic()
            reply = produce.handle(node, connection.session, frame, position, version, correlation_id)
            return counts.timed(reply, begun)
        api = self.counts.get(api_key)
        if api is None:
            raise ProtocolError(f"request with api key {api_key}, which this node does not serve")
        if not api.min_version <= version <= api.max_version:
            if api_key == API_VERSIONS:
                return encode_response_frame(api_key, 0, correlation_id, unsupported_version_body(node))
            raise ProtocolError(f"{api.name} version {version}: this node serves {api.min_version}-{api.max_version}")
        if node.quorum_ports is not None:
            self._check_listener(api_key, connection)
        if not node.is_open and not self._serves_now(api_key, version, frame):
            return self._when_open(connection, memoryview(bytearray(frame)))
        if node.faults is not None and (fault := node.faults.strike(api_key)) is not None:
            return self._struck(fault, connection, memoryview(bytearray(frame)))
        left = api.left = api.left - 1
        if left:
            return self._serve(connection, frame, api_key, version, correlation_id, position)
        begun = clock.source.monotonic()
        return api.timed(self._serve(connection, frame, api_key, version, correlation_id, position), begun)

    def image_changed(self, change: ImageChange) -> None:
        """Use is counted while the cluster has a quota of clients."""
        quotas = change.new.quotas
        if self._throttling is None and quotas.limits_clients:
            from barnabas.broker.network.throttling import Throttling  # only a node that needs it imports it

            self._throttling = Throttling(self._node.settings, self._node.health)
        if self._throttling is not None:
            self._throttling.rules = quotas
        self.throttling = self._throttling if quotas.limits_clients else None

    def throttled_totals(self) -> list[tuple[str, str, int, int]]:
        """By quota and rule: how often clients were told to wait, and for how many milliseconds together."""
        return [] if self._throttling is None else self._throttling.totals()

    def _check_listener(self, api_key: int, connection: Connection) -> None:
        """Where the quorum has a listener of its own, it is served there and nowhere else."""
        assert self._node.quorum_ports is not None
        if SERVED[api_key].quorum_only and connection.local_address[1] not in self._node.quorum_ports:
            raise ProtocolError(f"{SERVED[api_key].name} on a listener that is not the quorum's")

    def _serves_now(self, api_key: int, version: int, frame: memoryview) -> bool:
        """While the node starts: what the quorum needs, no records."""
        if api_key != FETCH:
            return SERVED[api_key].while_starting or SERVED[api_key].between_nodes
        position = read_request_header(frame).body_position
        return version >= _BY_ID_SINCE and is_quorum_fetch(decode_request(FETCH, version, frame, position))

    async def _when_open(self, connection: Connection, frame: memoryview) -> Reply:
        await self._node.opened.wait()
        result = self.handle(connection, frame, counted=True)
        return await result if isinstance(result, Awaitable) else result

    def _serve(
        self, connection: Connection, frame: memoryview, api_key: int, version: int, correlation_id: int, position: int
    ) -> Reply | Awaitable[Reply]:
        if api_key <= FETCH and position >= 0:
            handle = produce.handle if api_key == PRODUCE else fetch.handle
            return handle(self._node, connection.session, frame, position, version, correlation_id)
        _, _, _, client_id, position = read_request_header(frame)
        if api_key <= FETCH:
            return self._serve(connection, frame, api_key, version, correlation_id, position)
        context = RequestContext(api_key, version, correlation_id, client_id, connection.session)
        if len(frame) > LARGE_REQUEST_BYTES:
            return self._serve_large(bytes(frame), position, context)
        request = decode_request(api_key, version, frame, position)
        audit = self._node.audit
        if audit is not None and audit.tells(api_key, request):
            return self._audited(audit, self._replied(frame, request, context), request, context)
        return self._replied(frame, request, context)

    def _replied(
        self, frame: memoryview, request: Request[object], context: RequestContext
    ) -> bytes | Awaitable[Reply]:
        if self._is_forwarded(context, request):
            return self._forwarded(bytes(frame), request, context)
        try:
            if self._node.access is not None:
                self._check_access(context)
            body = self.handler(context.api_key)(self._node, request, context)
        except KafkaError as error:
            body = self._failure(request, context, error)
        if isinstance(body, Awaitable):
            return self._answer_later(body, request, context)
        if large_requests.is_large(body):
            return self._encode_large(body, context)
        return _encode(body, context)

    async def _answer_later(self, body: Awaitable[Body], request: Request[object], context: RequestContext) -> bytes:
        try:
            found = await body
        except KafkaError as error:
            return _encode(self._failure(request, context, error), context)
        if large_requests.is_large(found):
            return await self._encode_large(found, context)
        return _encode(found, context)

    def _failure(self, request: Request[object], context: RequestContext, error: KafkaError) -> Body:
        self.errors.add(context.api_key, error.code)
        return failure_body(context.api_key, context.api_version, request, error)

    async def _encode_large(self, body: Body, context: RequestContext) -> bytes:
        return _framed(await large_requests.encode(self._node.read_threads, body, context), context)

    async def _serve_large(self, frame: bytes, position: int, context: RequestContext) -> Reply:
        """The same for a request that may name many things: in parts, and with threads (network/large_requests.py)."""
        request, elements = await large_requests.decode(
            self._node.read_threads, frame, position, context, self._decoded
        )
        counted_bytes = 0 if context.api_key == apis.ENVELOPE else len(frame)  # what it encloses is counted by itself
        audit = self._node.audit
        try:
            with self._decoded.held(context.api_key, counted_bytes, elements):
                if audit is not None and audit.tells(context.api_key, request):
                    return await self._audited(audit, self._large_reply(frame, request, context), request, context)
                return await self._large_reply(frame, request, context)
        except KafkaError as error:  # there was no room
            return _encode(self._failure(request, context, error), context)

    async def _large_reply(self, frame: bytes, request: Request[object], context: RequestContext) -> Reply:
        if self._is_forwarded(context, request):
            return await self._forwarded(frame, request, context)
        body = await self._body_of(request, context)
        data = await large_requests.encode(self._node.read_threads, body, context, len(frame))
        return _framed(data, context)

    async def _audited(
        self,
        audit: AuditTrail,
        reply: bytes | Awaitable[Reply],
        request: Request[object],
        context: RequestContext,
    ) -> Reply:
        """The reply, after the audit trail was told what it says (broker/audit)."""
        found = await reply if isinstance(reply, Awaitable) else reply
        if isinstance(found, bytes):
            await audit.replied(context, request, found)
        return found

    def _is_forwarded(self, context: RequestContext, request: Request[object]) -> bool:
        api = SERVED[context.api_key]
        if not api.forwarded or self._node.controller.is_active:
            return False
        if api.known_clients_only and not context.session.may_use_tokens:
            return False  # the handler refuses it: the controller does not know on which listener a request came
        return not _is_local(context.api_key, request)

    def _check_access(self, context: RequestContext) -> None:
        operation = _CLUSTER_OPERATIONS.get(context.api_key)
        if operation is not None:
            require_on_cluster(self._node, context, operation)

    def handler(self, api_key: int) -> Handler:
        handler = self._handlers.get(api_key)
        if handler is None:
            coordinators = self._coordinators_of(api_key)
            if coordinators is not None and (preparing := coordinators.prepared()) is not None:
                return partial(self._when_prepared, preparing)
            handler = import_module(f"barnabas.broker.api.{SERVED[api_key].name}").handle
            self._handlers[api_key] = handler
        return handler

    def _coordinators_of(self, api_key: int) -> Coordinators[Any, Any] | None:  # the API key says of which kind
        match SERVED[api_key].coordinator:
            case apis.GROUP:
                return self._node.groups
            case apis.TRANSACTION:
                return self._node.transactions
        return None

    async def _when_prepared(
        self,
        preparing: asyncio.Future[ModuleType],
        node: ServingNode,
        request: Request[object],
        context: RequestContext,
    ) -> Body:
        """The first request to a coordinator waits for it to be imported; other connections do not."""
        await asyncio.wait([preparing])
        return await self._called(context, request)

    # --- to and from other nodes ------------------------------------------------------------------------------------

    async def _forwarded(self, frame: bytes, request: Request[object], context: RequestContext) -> Reply:
        """Ask the active controller in the client's place."""
        follow = not SERVED[context.api_key].only_reads
        try:
            answer = await self._node.controller.link.forward(frame, context.session, FORWARD_TIMEOUT_MS, follow=follow)
        except KafkaError as error:
            return _encode(self._failure(request, context, error), context)
        return len(answer).to_bytes(4, "big") + answer

    async def handle_enveloped(self, frame: memoryview, session: Session) -> bytes:
        """A request for the active controller, whole; its answer, header included. NOT_CONTROLLER is raised.

        `session` is that of the client, not of the node that hands its request on.
        """
        api_key, version, correlation_id, client_id, position = read_request_header(frame)
        api = SERVED.get(api_key)
        if api is None or not api.serves(version) or not api.enveloped:
            raise ProtocolError(f"an envelope with api key {api_key}, version {version}")
        context = RequestContext(api_key, version, correlation_id, client_id, session)
        if len(frame) <= LARGE_REQUEST_BYTES:
            return await self._controller_frame(decode_request(api_key, version, frame, position), context)
        request, elements = await large_requests.decode(
            self._node.read_threads, bytes(frame), position, context, self._decoded
        )
        with self._decoded.held(api_key, len(frame), elements):
            return await self._controller_frame(request, context)

    async def _controller_frame(self, request: Request[object], context: RequestContext) -> bytes:
        body = await self._controller_body(request, context)
        return _framed(await large_requests.encode(self._node.read_threads, body, context), context)[4:]

    async def answer_as_controller(self, request: Request[B], context: RequestContext) -> B:
        """The same for a request of this node itself, which is not encoded, nor is its answer."""
        return cast("B", _unencoded(await self._controller_body(request, context), context))

    async def _controller_body(self, request: Request[object], context: RequestContext) -> Body:
        try:
            return await large_requests.handle(request, context, partial(self._called, context))
        except KafkaError as error:
            if error.code is ErrorCode.NOT_CONTROLLER:
                raise
            return failure_body(context.api_key, context.api_version, request, error)

    async def answer_here(self, request: Request[B], context: RequestContext) -> B:
        """The answer of this node to itself, whoever is the active controller."""
        return cast("B", _unencoded(await self._body_of(request, context), context))

    async def _body_of(self, request: Request[object], context: RequestContext) -> Body:
        try:
            return await large_requests.handle(request, context, partial(self._called, context))
        except KafkaError as error:
            return self._failure(request, context, error)

    async def _called(self, context: RequestContext, request: Struct) -> Body:
        if self._node.access is not None:
            self._check_access(context)
        body = self.handler(context.api_key)(self._node, request, context)
        return await body if isinstance(body, Awaitable) else body

    # --- faults -----------------------------------------------------------------------------------------------------

    async def _struck(self, fault: Fault, connection: Connection, frame: memoryview) -> Reply:
        """An injected fault: wait, cut the connection, fail, or go on as if nothing had been."""
        if fault.delay_ms:
            await asyncio.sleep(fault.delay_ms / 1000)
        if fault.disconnect:
            connection.abort()
            return None
        api_key, version, correlation_id, _, position = read_request_header(frame)
        if fault.error is not None:
            request = decode_request(api_key, version, frame, position)
            body = failure_body(api_key, version, request, KafkaError(fault.error, "injected by a test"))
            return encode_response_frame(api_key, version, correlation_id, body)
        result = self._serve(connection, frame, api_key, version, correlation_id, position)
        return await result if isinstance(result, Awaitable) else result


def _is_local(api_key: int, request: Request[object]) -> bool:
    """Levels of loggers are this process' own; all other settings are the cluster's."""
    if api_key not in _CONFIGS:
        return False
    resources = cast("AlterConfigsRequest | IncrementalAlterConfigsRequest", request).resources
    return all(resource.resource_type == ResourceType.BROKER_LOGGER for resource in resources)


def _encode(body: Body, context: RequestContext) -> bytes:
    key, version = context.api_key, context.api_version
    data = body if isinstance(body, bytes) else encode_response(key, version, body)
    return response_frame(key, version, context.correlation_id, data)


def _unencoded(body: Body, context: RequestContext) -> object:
    """Only for APIs whose handlers leave the encoding to dispatch."""
    assert not isinstance(body, bytes), f"{SERVED[context.api_key].name} encodes its answers itself"
    return body


def _framed(data: bytes, context: RequestContext) -> bytes:
    return response_frame(context.api_key, context.api_version, context.correlation_id, data)

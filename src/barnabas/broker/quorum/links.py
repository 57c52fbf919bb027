"""Carries the quorum's requests to other nodes and their answers back to the machine.

Two connections to each node, because answers come in order: one for fetches, which wait at the leader, and one for all
that must not wait behind them. They are opened with the first request to a node. A connection that closes with a
request on it, or cannot be opened, means that the process is likely gone (ConnectionLost): that is how a killed leader
is noticed within milliseconds. One that is only silent fails its requests and nothing more.
"""

import asyncio
import logging
from collections.abc import Callable

from barnabas.broker.peers.table import PeerConnector
from barnabas.core.raft import Endpoint
from barnabas.core.raft.effects import Send
from barnabas.core.raft.events import ConnectionLost, Event, RequestFailed, ResponseReceived
from barnabas.core.raft.messages import FetchRequest, FetchSnapshotRequest, Request
from barnabas.core.raft.wire_answers import response_from
from barnabas.core.raft.wire_form import request_body
from barnabas.link.asyncio_driver import AsyncLink
from barnabas.link.errors import LinkDown, Unreachable
from barnabas.model.errors import KafkaError
from barnabas.wire.codec import decode_response, encode_request
from barnabas.wire.errors import ProtocolError

log = logging.getLogger(__name__)


class Links:
    def __init__(self, connector: PeerConnector, step: Callable[[Event], None], timeout_ms: int) -> None:
        self._connector = connector
        self._step = step
        self._timeout_ms = timeout_ms
        self._links: dict[tuple[int, bool], _Link] = {}
        self.closed = False

    def send(self, sent: Send) -> None:
        if self.closed:
            return
        fetches = isinstance(sent.message, FetchRequest | FetchSnapshotRequest)
        key = (sent.node_id, fetches)
        link = self._links.get(key)
        if link is None or (link.endpoint.host, link.endpoint.port) != (sent.endpoint.host, sent.endpoint.port):
            if link is not None:
                link.close()
            link = self._links[key] = _Link(
                self._connector, self._deliver, sent.node_id, sent.endpoint, self._timeout_ms
            )
        link.send(sent.message)

    def _deliver(self, event: Event) -> None:
        if not self.closed:
            self._step(event)

    def close(self) -> None:
        self.closed = True
        for link in self._links.values():
            link.close()


class _Link:
    def __init__(
        self,
        connector: PeerConnector,
        deliver: Callable[[Event], None],
        node_id: int,
        endpoint: Endpoint,
        timeout_ms: int,
    ) -> None:
        self._connector = connector
        self._deliver = deliver
        self._node_id = node_id
        self.endpoint = endpoint
        self._timeout_ms = timeout_ms
        self._connection: AsyncLink | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._queue: list[Request] = []  # one of each kind at most: the machine has no more on its way
        self._closed = False

    def send(self, request: Request) -> None:
        if self._connection is not None and not self._connection.closed:
            self._ask(self._connection, request)
            return
        self._queue.append(request)
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.ensure_future(self._connect())

    async def _connect(self) -> None:
        try:
            connection = await self._connector.connect(self.endpoint.host, self.endpoint.port, self._lost)
        except LinkDown as error:
            log.debug("node %d at %s:%d: %s", self._node_id, self.endpoint.host, self.endpoint.port, error)
            queue, self._queue = self._queue, []
            for request in queue:
                self._deliver(RequestFailed(self._node_id, request))
            if isinstance(error, Unreachable):
                self._deliver(ConnectionLost(self._node_id))  # refused: the process is gone
            return
        if self._closed:
            connection.close()
            return
        self._connection = connection
        queue, self._queue = self._queue, []
        for request in queue:
            self._ask(connection, request)

    def _ask(self, connection: AsyncLink, request: Request) -> None:
        api_key, version, body = request_body(request)
        answer = connection.ask_raw(api_key, version, encode_request(api_key, version, body), self._timeout_ms)
        answer.add_done_callback(lambda done: self._answered(done, request, api_key, version))

    def _answered(self, done: "asyncio.Future[memoryview]", request: Request, api_key: int, version: int) -> None:
        if self._closed or done.cancelled():
            return
        if done.exception() is not None:
            self._deliver(RequestFailed(self._node_id, request))
            return
        try:
            message = response_from(api_key, decode_response(api_key, version, done.result()))
        except (ProtocolError, KafkaError, ValueError) as error:
            log.warning("node %d answered the quorum with something unreadable: %s", self._node_id, error)
            self._deliver(RequestFailed(self._node_id, request))
            return
        self._deliver(ResponseReceived(self._node_id, request, message))

    def _lost(self, owed: bool) -> None:
        if owed and not self._closed:
            self._deliver(ConnectionLost(self._node_id))

    def close(self) -> None:
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        if self._connection is not None:
            self._connection.close()

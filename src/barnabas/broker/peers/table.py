"""Connections to the other brokers of the cluster, found by what they registered.

    answer = await node.peers.ask(broker_id, api_key, version, body)       decoded; PeerGone when none will come
    connection = await node.peers.connection(broker_id, "fetch")           to send raw frames on

Answers come in order on a connection, so what waits long (a fetch) has one of its own: one for each broker and purpose,
opened when it is first needed, opened anew when it closed or when the broker registered elsewhere.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.broker.peers.connection import ANSWER_TIMEOUT_MS, PeerConnection, PeerGone

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["PeerConnection", "PeerGone", "Peers", "connect", "wait_for"]

CONNECT_TIMEOUT_SECONDS = 2.0
Address = tuple[str, int]


async def connect(node: "Node", host: str, port: int, on_lost: Callable[[bool], None] | None = None) -> PeerConnection:
    """A connection to this address, or PeerGone."""
    connection = PeerConnection(f"node-{node.node_id}", on_lost)
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            await node.platform.connect(lambda: connection, host, port)
    except TimeoutError:
        connection.close()
        raise PeerGone(f"{host}:{port} does not answer") from None
    except OSError as error:
        raise PeerGone(f"{host}:{port}: {error.strerror or error}") from error
    return connection


async def wait_for(connecting: "asyncio.Task[PeerConnection]") -> PeerConnection:
    """Whoever stops waiting does not take the connection from the others; one that was given up is gone for all."""
    try:
        return await asyncio.shield(connecting)
    except asyncio.CancelledError:
        waiting = asyncio.current_task()
        if connecting.cancelled() and waiting is not None and not waiting.cancelling():
            raise PeerGone("the connection was given up") from None
        raise


class _Peer:
    __slots__ = ("address", "connecting")

    def __init__(self, address: Address, connecting: "asyncio.Task[PeerConnection]") -> None:
        self.address = address
        self.connecting = connecting

    @property
    def usable(self) -> bool:
        task = self.connecting
        return not task.done() or not (task.cancelled() or task.exception() is not None or task.result().closed)


class Peers:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._peers: dict[tuple[int, str], _Peer] = {}
        self._on_lost: list[Callable[[int], None]] = []

    def on_lost(self, then: Callable[[int], None]) -> None:
        """`then(broker_id)` whenever a connection to a broker closed by itself."""
        self._on_lost.append(then)

    async def ask(
        self, broker_id: int, api_key: int, version: int, body: dict[str, Any], timeout_ms: int = ANSWER_TIMEOUT_MS
    ) -> Any:
        connection = await self.connection(broker_id)
        return await connection.ask(api_key, version, body, timeout_ms)

    async def connection(self, broker_id: int, purpose: str = "") -> PeerConnection:
        address = self.address(broker_id)
        key = (broker_id, purpose)
        peer = self._peers.get(key)
        if peer is None or peer.address != address or not peer.usable:
            if peer is not None:
                _drop(peer)
            task = asyncio.ensure_future(connect(self._node, *address, lambda _: self._lost(broker_id)))
            peer = self._peers[key] = _Peer(address, task)
        return await wait_for(peer.connecting)

    def address(self, broker_id: int) -> Address:
        """Where the brokers of the cluster reach this one."""
        broker = self._node.image.brokers.get(broker_id)
        endpoints = broker.endpoints if broker is not None else ()
        if not endpoints:
            raise PeerGone(f"no broker {broker_id} is registered")
        name = self._node.inter_broker_listener
        endpoint = next((found for found in endpoints if found.name == name), endpoints[0])
        return endpoint.host, endpoint.port

    def _lost(self, broker_id: int) -> None:
        for then in self._on_lost:
            then(broker_id)

    def close(self) -> None:
        for peer in self._peers.values():
            _drop(peer)
        self._peers.clear()


def _drop(peer: _Peer) -> None:
    task = peer.connecting
    if not task.done():
        task.cancel()
    elif not task.cancelled() and task.exception() is None:
        task.result().close()

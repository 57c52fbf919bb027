"""Connections to the other brokers of the cluster, found by what they registered.

    answer = await peers.ask(broker_id, api_key, version, body)       decoded; LinkDown when none will come
    connection = await peers.connection(broker_id, "fetch")           to send raw frames on

Answers come in order on a connection, so what waits long (a fetch) has one of its own: one for each broker and purpose,
opened when it is first needed, opened anew when it closed or when the broker registered elsewhere.
"""

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping

from barnabas.broker.peers.security import PLAINTEXT, PeerSecurity
from barnabas.broker.roles import ClusterView
from barnabas.link.asyncio_driver import ANSWER_TIMEOUT_MS, AsyncLink
from barnabas.link.errors import LinkDown, LoginFailed, Silent, Unreachable
from barnabas.model.limits import CONNECT_TIMEOUT_SECONDS, TLS_HANDSHAKE_SECONDS
from barnabas.model.settings import Listener
from barnabas.wire.codec import Decoded

# Once a connection stands, its peer is there: a machine that is busy with many handshakes at once (all nodes start
# together) takes longer than one that is gone may be waited for.
_SECURED_TIMEOUT_SECONDS = TLS_HANDSHAKE_SECONDS
Address = tuple[str, int]
Connect = Callable[
    [Callable[[], asyncio.BaseProtocol], str, int, ssl.SSLContext | None], Awaitable[asyncio.BaseTransport]
]
_NONCE_BYTES = 18


class PeerConnector:
    """Opens connections to other nodes: `open_connection` is the platform's, `security` what their listener wants."""

    def __init__(self, node_id: int, open_connection: Connect, security: PeerSecurity = PLAINTEXT) -> None:
        self._client_id = f"node-{node_id}"
        self._open = open_connection
        self._security = security

    async def connect(self, host: str, port: int, on_lost: Callable[[bool], None] | None = None) -> AsyncLink:
        """A connection to this address, or LinkDown: Unreachable when it was refused, Silent when nothing was heard."""
        connection = AsyncLink(self._client_id, on_lost)
        where = f"{host}:{port}"
        tls, credentials = self._security.context(), self._security.credentials
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS if tls is None else _SECURED_TIMEOUT_SECONDS) as limit:
                await self._open(lambda: connection, host, port, tls)
                if credentials is not None:
                    limit.reschedule(asyncio.get_running_loop().time() + _SECURED_TIMEOUT_SECONDS)
                    await connection.log_in(credentials, _new_nonce)
        except TimeoutError:
            connection.close()
            raise Silent("the connection is not accepted", where) from None
        except ssl.SSLError as error:
            connection.close()
            raise LinkDown(f"TLS failed: {error.reason or error}", where) from error
        except LoginFailed as error:
            connection.close()
            raise LinkDown(str(error), where) from error
        except OSError as error:
            raise Unreachable(error.strerror or str(error), where) from error
        except BaseException:
            connection.close()  # given up in the middle of a login
            raise
        return connection


def _new_nonce() -> str:
    return os.urandom(_NONCE_BYTES).hex()


async def wait_for(connecting: "asyncio.Task[AsyncLink]") -> AsyncLink:
    """Whoever stops waiting does not take the connection from the others; one that was given up is gone for all."""
    try:
        return await asyncio.shield(connecting)
    except asyncio.CancelledError:
        waiting = asyncio.current_task()
        if connecting.cancelled() and waiting is not None and not waiting.cancelling():
            raise LinkDown("the connection was given up") from None
        raise


class _Peer:
    __slots__ = ("address", "connecting")

    def __init__(self, address: Address, connecting: "asyncio.Task[AsyncLink]") -> None:
        self.address = address
        self.connecting = connecting

    @property
    def usable(self) -> bool:
        task = self.connecting
        return not task.done() or not (task.cancelled() or task.exception() is not None or task.result().closed)


class Peers:
    def __init__(self, cluster: ClusterView, connector: PeerConnector, inter_broker: Listener | None) -> None:
        self._cluster = cluster
        self._connector = connector
        self._inter_broker_listener = "" if inter_broker is None else inter_broker.name
        self._peers: dict[tuple[int, str], _Peer] = {}
        self._on_lost: list[Callable[[int], None]] = []

    def on_lost(self, then: Callable[[int], None]) -> None:
        """`then(broker_id)` whenever a connection to a broker closed by itself."""
        self._on_lost.append(then)

    async def ask(
        self,
        broker_id: int,
        api_key: int,
        version: int,
        body: Mapping[str, object],
        timeout_ms: int = ANSWER_TIMEOUT_MS,
    ) -> Decoded:
        connection = await self.connection(broker_id)
        return await connection.ask(api_key, version, body, timeout_ms)

    async def connection(self, broker_id: int, purpose: str = "") -> AsyncLink:
        address = self.address(broker_id)
        key = (broker_id, purpose)
        peer = self._peers.get(key)
        if peer is None or peer.address != address or not peer.usable:
            if peer is not None:
                _drop(peer)
            task = asyncio.ensure_future(self._connector.connect(*address, lambda _: self._lost(broker_id)))
            peer = self._peers[key] = _Peer(address, task)
        return await wait_for(peer.connecting)

    def address(self, broker_id: int) -> Address:
        """Where the brokers of the cluster reach this one."""
        broker = self._cluster.image.brokers.get(broker_id)
        endpoints = broker.endpoints if broker is not None else ()
        if not endpoints:
            raise LinkDown(f"no broker {broker_id} is registered")
        named = (found for found in endpoints if found.name == self._inter_broker_listener)
        endpoint = next(named, endpoints[0])
        return endpoint.host, endpoint.port

    async def probe(self, broker_id: int) -> None:
        """LinkDown when it cannot be connected to; Unreachable where its address refuses."""
        (await self._connector.connect(*self.address(broker_id))).close()

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

"""Accepts connections, enforces connection limits, and closes idle connections."""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from barnabas.broker.metrics.event_log import LimitedLog
from barnabas.broker.network.connection import Connection
from barnabas.broker.network.connection_limits import ConnectionLimits
from barnabas.broker.network.pending_logins import PendingLogins
from barnabas.broker.network.request_memory import RequestMemory
from barnabas.model import limits
from barnabas.model.settings import Settings

if TYPE_CHECKING:
    from barnabas.broker.audit.trail import AuditTrail
    from barnabas.broker.network.dispatch import Dispatcher
    from barnabas.broker.network.login.listener_login import Users
    from barnabas.broker.network.security import PortSecurity
    from barnabas.broker.network.tls_acceptor import TlsAcceptor
    from barnabas.core.access.quotas.rules import QuotaRules
    from barnabas.core.cluster.records import Endpoint

log = logging.getLogger(__name__)

_ACCEPT_BACKLOG = 1024  # a storm of connections waits in the kernel, not in a retry
_SWEEP_SECONDS = 5.0
_SYSTEM_SIZED = -1  # of a socket's buffer: the kernel lets it grow
_GOODBYE_SECONDS = 0.25  # at a stop


class CannotListen(Exception):
    """The address is in use or is not ours; one line for a person."""


class Listener:
    def __init__(
        self,
        dispatcher: "Dispatcher",
        settings: Settings,
        quotas: "Callable[[], QuotaRules]",
        *,
        request_memory_bytes: int,
        listen: Callable[[str, int], socket.socket] | None = None,
    ) -> None:
        self.dispatcher = dispatcher
        self._listen = listen or listening_socket
        self.limits = ConnectionLimits(settings, quotas)
        self._send_buffer_bytes = settings.int("socket.send.buffer.bytes")
        self.request_max_bytes = settings.int("socket.request.max.bytes")
        self.request_memory = RequestMemory(request_memory_bytes)
        self.receive_buffer = memoryview(bytearray(limits.RECEIVE_BUFFER_BYTES))
        self.loop_time: Callable[[], float] = asyncio.get_running_loop().time
        self.troubles = LimitedLog(log, self.loop_time)  # what clients can cause as often as they like
        self.audit: AuditTrail | None = None
        self.names: dict[int, str] = {}  # of the listeners, by port
        self.security: dict[int, PortSecurity] = {}  # of those that ask for TLS or a login
        self.connections: dict[Connection, None] = {}  # in the order they came
        self._idle_seconds = settings.int("connections.max.idle.ms") / 1000
        self._sockets: list[socket.socket] = []
        self._servers: list[asyncio.Server | TlsAcceptor] = []
        self.pending_logins = PendingLogins(lambda line: self.troubles.warning("pending logins", line))
        self.pending_logins.limit(self.limits.most)
        self._sweep_timer: asyncio.TimerHandle | None = None

    def apply_limits(self, settings: Settings) -> None:
        """Of connections; they may change while we listen."""
        self.limits.apply(settings)
        self.pending_logins.limit(self.limits.most)

    def bind(self, host: str, port: int) -> tuple[str, int]:
        """Bind the address; gives it as bound (port 0: a free one). Clients that connect now wait in the kernel."""
        try:
            bound = self._listen(host, port)
            if self._send_buffer_bytes != _SYSTEM_SIZED:  # every connection accepted inherits it
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer_bytes)
        except OSError as error:
            raise cannot_listen(error, host, port) from error
        self._sockets.append(bound)
        address = bound.getsockname()
        return address[0], address[1]

    def secure(self, settings: Settings, bound: "Sequence[Endpoint]", users: "Users", opened: asyncio.Event) -> None:
        """Those that ask for TLS or a login; KafkaError(INVALID_CONFIG) for what cannot be kept."""
        if any(endpoint.protocol != "PLAINTEXT" for endpoint in bound):
            from barnabas.broker.network.security import secure_ports  # only a node that needs it imports it

            self.security = secure_ports(
                settings, bound, self.dispatcher, users, opened, self.pending_logins, self.audit
            )

    async def serve(self) -> None:
        """Serve the addresses that were bound."""
        loop = asyncio.get_running_loop()
        for bound in self._sockets:
            security = self.security.get(bound.getsockname()[1])
            if security is not None and security.tls is not None:
                from barnabas.broker.network.tls_acceptor import TlsAcceptor  # not for a node without TLS

                self._servers.append(TlsAcceptor(self, bound, security.tls, security.name))
            else:
                server = await loop.create_server(lambda: Connection(self), sock=bound, backlog=_ACCEPT_BACKLOG)
                self._servers.append(server)
        self._sweep_timer = loop.call_later(self._sweep_every, self._sweep)

    def admit(self, connection: Connection) -> bool:
        """Count a new connection in. One above a limit is closed; one that came too soon is read later."""
        self.connections[connection] = None
        session, loop = connection.session, asyncio.get_running_loop()
        security = self.security.get(session.listener_port)
        if security is not None and security.tls is not None:
            return True  # its handshake was admitted
        refused, seconds = self.limits.begin(session.listener, session.client_host)
        if refused:
            host, line = connection.client_host, f"connection from {connection.client_host} refused: {refused}"
            self.tell_refused(refused, host, session.listener, refused, line)
            if not seconds:
                connection.close()
                return False
            connection.close_when_sent()
            loop.call_soon(connection.mute, seconds, True)  # the loop begins to read when it has told of the connection
            loop.call_later(seconds, connection.close)
            return False
        if seconds:
            connection.mute(seconds)
            loop.call_soon(connection.mute, seconds, True)
        self.make_room(session.listener)
        return True

    def tell_refused(self, kind: str, host: str, listener: str, why: str, text: str) -> None:
        """In the log, one line a second and kind, and in the audit trail."""
        self.troubles.warning(kind, text)
        if self.audit is not None:
            self.audit.connection_refused(host, listener, why)

    def make_room(self, listener: str) -> None:
        """For a node, when clients have all connections."""
        if self.limits.is_full and self.limits.is_of_nodes(listener):
            clients = [one for one in self.connections if not self.limits.is_of_nodes(one.session.listener)]
            idle = min(clients, key=lambda one: one.last_active, default=None)
            if idle is not None:
                self.troubles.warning("idle", f"connection from {idle.client_host} closed: a node needs the place")
                idle.abort()

    @property
    def failed_logins(self) -> int:
        """Of all listeners, which count together."""
        return next((security.failed_logins for security in self.security.values()), 0)

    def forget(self, connection: Connection) -> None:
        if self.connections.pop(connection, self) is None:
            self.limits.end(connection.session.listener, connection.client_host)

    @property
    def _sweep_every(self) -> float:
        return min(_SWEEP_SECONDS, max(self._idle_seconds / 4, 0.05)) if self._idle_seconds > 0 else _SWEEP_SECONDS

    def _sweep(self) -> None:
        """Close connections that have been idle too long, and free the buffers of quiet ones."""
        now = self.loop_time()
        queued = 0
        for connection in list(self.connections):
            quiet = now - connection.last_active
            queued += connection.queued_memory
            if quiet > _SWEEP_SECONDS:
                connection.release_buffer()
            if 0 < self._idle_seconds < quiet and not connection.waiting and not connection.watched:
                log.info("connection from %s closed: idle for %.0f s", connection.client_host, quiet)
                connection.close()
        self._relieve(queued)
        for security in self.security.values():
            security.renew_certificates()
        self._sweep_timer = asyncio.get_running_loop().call_later(self._sweep_every, self._sweep)

    def _relieve(self, queued: int) -> None:
        """Over all connections together too much waits for clients that do not read: end the worst of them."""
        while queued > limits.NODE_QUEUED_MAX_BYTES and self.connections:
            worst = max(self.connections, key=lambda connection: connection.queued_memory)
            queued -= worst.queued_memory
            log.warning("connection from %s closed: %d bytes wait for it", worst.client_host, worst.queued_memory)
            worst.abort()
            self.forget(worst)

    def abandon(self) -> None:
        """The start failed: let go of the addresses at once."""
        for security in self.security.values():
            security.close()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        for server in self._servers:
            server.close()
        for bound in self._sockets if not self._servers else ():
            bound.close()
        for connection in list(self.connections):
            connection.close()

    async def close(self) -> None:
        self.request_memory.close()
        for security in self.security.values():
            security.close()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        for bound in self._sockets:
            if not self._servers:
                bound.close()
        for server in self._servers:
            server.close()
        for connection in list(self.connections):
            connection.close()
        for server in self._servers:
            if isinstance(server, asyncio.AbstractServer):
                await server.wait_closed()
        await self._closed_connections()

    async def _closed_connections(self) -> None:
        """TLS waits for the other side's goodbye, which one that is not read from cannot give."""
        deadline = self.loop_time() + _GOODBYE_SECONDS
        while self.connections and self.loop_time() < deadline:
            await asyncio.sleep(0.005)
        for connection in list(self.connections):
            connection.abort()
        await asyncio.sleep(0)


def listening_socket(host: str, port: int) -> socket.socket:
    """One socket; without a host, on every address of both families where the machine has both."""
    if not host:
        both = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both else socket.AF_INET
        return socket.create_server(("", port), family=family, backlog=_ACCEPT_BACKLOG, dualstack_ipv6=both)
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return socket.create_server(address[:2], family=family, backlog=_ACCEPT_BACKLOG)


def cannot_listen(error: OSError, host: str, port: int) -> CannotListen:
    return CannotListen(_explain(error, host, port))


def _explain(error: OSError, host: str, port: int) -> str:
    place = f"{host or '*'}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host or 'all addresses'} is taken: stop what listens there, or choose another port"
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"cannot listen on {place}: {host!r} is not an address of this machine"
    if error.errno == errno.EACCES:
        return f"cannot listen on {place}: ports below 1024 need more rights; choose a higher one"
    return f"cannot listen on {place}: {error.strerror or error}"

"""Takes HTTP connections in, with TLS or without, and limits how many there are.

A connection counts from the moment it is accepted, its handshake included. When METRICS_CONNECTIONS_MAX are there, the
oldest one that has not been served yet gives way: whoever only connects cannot keep those out who read.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

from barnabas.broker.metrics.http.connection import HttpConnection
from barnabas.model.limits import METRICS_CONNECTIONS_MAX, TLS_HANDSHAKE_SECONDS
from barnabas.tls.contexts import RenewedContext

log = logging.getLogger(__name__)

_ACCEPTED_AT_ONCE = 16  # then the loop does something else
_REST_SECONDS = 0.5  # after the machine ran out of descriptors
_SHUTDOWN_SECONDS = 1.0
_OUT_OF_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Acceptor:
    """`make` makes the protocol of a connection; it calls the function that it is given when the connection is gone."""

    def __init__(
        self,
        bound: socket.socket,
        tls: RenewedContext | None,
        make: Callable[[Callable[[HttpConnection], None]], HttpConnection],
    ) -> None:
        self._bound, self._tls, self._make = bound, tls, make
        self._loop = asyncio.get_running_loop()
        self._open: dict[HttpConnection, socket.socket] = {}  # in the order they came
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        bound.setblocking(False)
        self._loop.add_reader(bound.fileno(), self._accept)

    @property
    def queued_bytes(self) -> int:
        return sum(connection.queued_bytes for connection in self._open)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                client, _ = self._bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno in _OUT_OF_DESCRIPTORS:
                    self._loop.remove_reader(self._bound.fileno())
                    self._loop.call_later(_REST_SECONDS, self._go_on)
                return
            self._begin(client)

    def _go_on(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._bound.fileno(), self._accept)

    def _begin(self, client: socket.socket) -> None:
        client.setblocking(False)
        if len(self._open) >= METRICS_CONNECTIONS_MAX:
            stranger = next((each for each in self._open if not each.was_served), None)
            if stranger is None:
                client.close()
                return
            self._end(stranger)
        connection = self._make(self._gone)
        self._open[connection] = client
        task = self._loop.create_task(self._connect(connection, client))
        self._tasks.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, connection: HttpConnection, client: socket.socket) -> None:
        if connection not in self._open:
            return  # others came meanwhile
        tls = None if self._tls is None else self._tls.context
        seconds = {} if tls is None else _TLS_SECONDS
        try:
            await self._loop.connect_accepted_socket(lambda: connection, client, ssl=tls, **seconds)
        except OSError as error:  # ssl.SSLError is one; that a stranger fails is nobody's concern
            log.debug("a connection to /metrics failed: %s", error)
            self._gone(connection)
            client.close()

    def _end(self, connection: HttpConnection) -> None:
        client = self._open.pop(connection)
        if connection.host:
            connection.abort()
        else:  # its handshake is under way, or not begun
            try:
                client.shutdown(socket.SHUT_RDWR)
            except OSError:
                client.close()

    def _gone(self, connection: HttpConnection) -> None:
        self._open.pop(connection, None)

    def renew_certificates(self) -> None:
        if self._tls is not None:
            self._tls.renew_if_changed()

    def close(self) -> None:
        self._closed = True
        if self._bound.fileno() >= 0:
            self._loop.remove_reader(self._bound.fileno())
            self._bound.close()
        for task in self._tasks:
            task.cancel()
        for connection in list(self._open):
            self._end(connection)


_TLS_SECONDS = {"ssl_handshake_timeout": TLS_HANDSHAKE_SECONDS, "ssl_shutdown_timeout": _SHUTDOWN_SECONDS}

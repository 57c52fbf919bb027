"""Accepts connections on a listener with TLS and does their handshakes.

The loop's own servers tell of a TLS connection only when its handshake is done, so nobody could count those that never
finish one. Here a connection counts from the moment it is accepted: ten thousand half-open handshakes are ten thousand
connections, and each has ten seconds.
"""

import asyncio
import contextlib
import errno
import logging
import socket
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.network.connection import Connection
from barnabas.broker.network.session import OWN, plain_host
from barnabas.model.limits import TLS_HANDSHAKE_SECONDS
from barnabas.tls.alerts import SEND_ALERT
from barnabas.tls.contexts import RenewedContext

if TYPE_CHECKING:
    from barnabas.broker.network.listener import Listener

events = logging.getLogger("barnabas.events")

_ACCEPTED_AT_ONCE = 16  # then the loop does something else
_REST_SECONDS = 0.5  # after the machine ran out of descriptors
_SHUTDOWN_SECONDS = 1.0
_ALERT_SECONDS = 0.5  # a refused client has to read why, before what it goes on sending is answered by a reset
_ALERTS_MAX = 128
_OUT_OF_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class TlsAcceptor:
    def __init__(self, listener: "Listener", bound: socket.socket, tls: RenewedContext, name: str) -> None:
        self._listener = listener
        self._bound = bound
        self._tls = tls
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._handshakes: set[asyncio.Task[None]] = set()
        self._alerts: set[socket.socket] = set()
        bound.setblocking(False)
        self._loop.add_reader(bound.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                client, address = self._bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_DESCRIPTORS:  # of that one connection, as accept(2) tells them
                    self._listener.troubles.warning("accept", f"a connection could not be accepted: {error}")
                    return
                self._loop.remove_reader(self._bound.fileno())
                self._loop.call_later(_REST_SECONDS, self._go_on)
                return
            host = plain_host(address[0])
            refused, seconds = self._listener.limits.begin(self._name, host)
            if refused:
                line = f"connection from {host} refused: {refused}"
                self._listener.tell_refused(refused, host, self._name, refused, line)
                self._loop.call_later(seconds, self._refuse, client, host)
                continue
            self._listener.make_room(self._name)
            made: list[Connection] = []  # it counts until it is closed; a handshake that fails, until then
            task = self._loop.create_task(self._shake_hands(client, host, seconds, made))
            self._handshakes.add(task)  # the loop itself holds tasks weakly
            task.add_done_callback(partial(self._ended, client, host, made))
            self._listener.pending_logins.began(task, task.cancel)

    def _ended(self, client: socket.socket, host: str, made: list[Connection], task: "asyncio.Task[None]") -> None:
        """Also of one that is cancelled before its first step, which runs no `finally` of its own."""
        self._handshakes.discard(task)
        self._listener.pending_logins.ended(task)
        if task.cancelled():
            client.close()
        if not made or made[0].session is OWN:
            self._listener.limits.end(self._name, host)

    def _go_on(self) -> None:
        if self._bound.fileno() >= 0:
            self._loop.add_reader(self._bound.fileno(), self._accept)

    def _refuse(self, client: socket.socket, host: str) -> None:
        client.close()
        self._listener.limits.end(self._name, host)

    async def _shake_hands(self, client: socket.socket, host: str, seconds: float, made: list[Connection]) -> None:
        def make() -> Connection:
            made.append(Connection(self._listener))
            return made[0]

        try:
            if seconds:
                await asyncio.sleep(seconds)
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            SEND_ALERT.set(partial(self._send_alert, client))  # of this task only
            await self._loop.connect_accepted_socket(
                make,
                client,
                ssl=self._tls.context,
                ssl_handshake_timeout=TLS_HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=_SHUTDOWN_SECONDS,
            )
        except OSError as error:  # ssl.SSLError is one
            client.close()
            why = getattr(error, "reason", None) or error.strerror or str(error)
            if why:  # not for one that only looked whether the port is open
                line = f"TLS handshake from {host} on listener {self._name} failed: {why}"
                self._listener.tell_refused(f"handshake {host}", host, self._name, f"TLS handshake failed: {why}", line)

    def _send_alert(self, client: socket.socket, alert: bytes) -> None:
        """The loop is about to close the connection: a second descriptor keeps it open for a moment."""
        if len(self._alerts) >= _ALERTS_MAX:
            return
        try:
            kept = client.dup()
        except OSError:
            return
        self._alerts.add(kept)
        self._loop.call_later(_ALERT_SECONDS, self._end_alert, kept)
        with contextlib.suppress(OSError):  # it has gone, or does not read
            kept.send(alert)
            kept.shutdown(socket.SHUT_WR)

    def _end_alert(self, kept: socket.socket) -> None:
        self._alerts.discard(kept)
        kept.close()

    def close(self) -> None:
        if self._bound.fileno() >= 0:
            self._loop.remove_reader(self._bound.fileno())
            self._bound.close()
        for task in self._handshakes:
            task.cancel()
        for kept in list(self._alerts):
            self._end_alert(kept)

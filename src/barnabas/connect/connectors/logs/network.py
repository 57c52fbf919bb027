"""Receives syslog by UDP or TCP.

Neither has acknowledgements: what is on its way, in a socket or here when a worker ends is lost, over UDP also what
comes faster than it is read. A position is empty.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from barnabas.connect.connectors.logs.formats import UNPARSED, Fields
from barnabas.connect.connectors.logs.frames import Frames
from barnabas.connect.connectors.logs.times import milliseconds
from barnabas.connect.contract import Chunk, Reader, Record
from barnabas.connect.errors import BadOption, Unavailable

log = logging.getLogger("barnabas.connect")

RECEIVE_BUFFER = 4 * 1024 * 1024  # the system may give less (net.core.rmem_max)
CONNECTIONS_MAX = 200
_READ_BYTES = 64 * 1024

Parse = Callable[[str], Fields | None]


@dataclass(frozen=True, slots=True)
class Address:
    kind: str
    host: str
    port: int


def address_of(url: str) -> Address:
    kind, _, rest = url.partition("://")
    host, _, port = rest.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if kind not in ("udp", "tcp") or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise BadOption(f"option 'syslog' of logs: {url!r}", "Write it as udp://127.0.0.1:5514 or tcp://127.0.0.1:5514")
    return Address(kind, host, int(port))


def _listen(address: Address) -> socket.socket:
    try:
        family, kind, _, _, where = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_DGRAM if address.kind == "udp" else socket.SOCK_STREAM
        )[0]
        listener = socket.socket(family, kind)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
            if address.kind == "tcp":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(where)
            if address.kind == "tcp":
                listener.listen(64)
            listener.setblocking(False)
        except OSError:
            listener.close()
            raise
    except OSError as problem:
        where_to = f"{address.kind}://{address.host}:{address.port}"
        raise Unavailable(f"logs cannot listen on {where_to}: {problem.strerror}", "Is the port taken?") from None
    return listener


class SyslogReader(Reader):
    def __init__(self, address: Address, message_bytes: int, parse: Parse) -> None:
        self._most_bytes, self._parse = message_bytes, parse
        self._udp = address.kind == "udp"
        self._waiting: collections.deque[tuple[bytes, str]] = collections.deque()
        self._connections: dict[socket.socket, tuple[Frames, str]] = {}
        self._listener = _listen(address)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)

    def read(self, most: int, wait_s: float) -> Chunk | None:
        deadline = time.monotonic() + wait_s
        while len(self._waiting) < most:
            left = 0.0 if self._waiting else max(0.0, deadline - time.monotonic())
            events = self._selector.select(left)
            if not events and (self._waiting or time.monotonic() >= deadline):
                break
            for key, _ in events:
                assert isinstance(key.fileobj, socket.socket)
                self._receive(key.fileobj, most)
        if not self._waiting:
            return None
        ready = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        return Chunk([self._record(message, sender) for message, sender in ready], {})

    def _receive(self, ready: socket.socket, most: int) -> None:
        if self._udp:
            with contextlib.suppress(OSError):  # nothing more for now
                while len(self._waiting) < most:
                    data, sender = ready.recvfrom(_READ_BYTES)
                    cut = data[: self._most_bytes]
                    mark = b" [cut: %d bytes more]" % (len(data) - len(cut)) if len(cut) < len(data) else b""
                    if data:
                        self._waiting.append((cut.rstrip(b"\r\n\0") + mark, sender[0]))
        elif ready is self._listener:
            self._accept()
        else:
            self._read_connection(ready)

    def _accept(self) -> None:
        try:
            connection, sender = self._listener.accept()
        except OSError:  # gone again
            return
        if len(self._connections) >= CONNECTIONS_MAX:
            log.warning("logs: syslog connection of %s refused: there are %d", sender[0], CONNECTIONS_MAX)
            connection.close()
            return
        connection.setblocking(False)
        self._connections[connection] = (Frames(self._most_bytes), sender[0])
        self._selector.register(connection, selectors.EVENT_READ)

    def _read_connection(self, connection: socket.socket) -> None:
        frames, sender = self._connections[connection]
        try:
            data = connection.recv(_READ_BYTES)
            messages = frames.add(data) if data else frames.finish()
        except BlockingIOError:
            return
        except OSError:
            data, messages = b"", frames.finish()
        if frames.broken:
            log.warning("logs: syslog connection of %s closed: its octet counts are wrong", sender)
            data = b""
        self._waiting.extend((message, sender) for message in messages)
        if not data:
            self._selector.unregister(connection)
            del self._connections[connection]
            connection.close()

    def _record(self, message: bytes, sender: str) -> Record:
        text = message.decode(errors="replace")
        fields = self._parse(text) or {"message": text, "tags": [UNPARSED]}
        fields["from"] = sender
        time_of = fields.get("time")
        timestamp_ms = milliseconds(time_of) if time_of is not None and not isinstance(time_of, str) else None
        return Record(fields, key=fields.get("host", sender), timestamp_ms=timestamp_ms)

    def close(self) -> None:
        self._selector.close()
        self._listener.close()
        for connection in self._connections:
            connection.close()

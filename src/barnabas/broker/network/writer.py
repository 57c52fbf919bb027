"""How bytes leave: answers and slices of segment files, in order, without passing a record through Python.

`SocketWriter` writes straight to the socket: a buffer by `send`, a slice by `sendfile`. What the socket does not take
at once waits in a queue until the socket is writable again. The transport never writes, so the two cannot mix; the
queue listens on a duplicate of the descriptor because the loop refuses a second listener on a transport's own.

`TlsWriter` is the same through TLS, which has no sendfile: slices are read when there is room for them.
"""

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence

from barnabas.storage.slice import Slice

Piece = bytes | memoryview | Slice

TLS_PIECE_BYTES = 128 * 1024  # of a file, encrypted at once
TLS_BUFFER_BYTES = 256 * 1024  # encrypted and not sent yet, of one connection
SENDFILE_FROM_BYTES = 32 * 1024  # below this one pread and one send are cheaper than a send and a sendfile


class SocketWriter:
    __slots__ = ("_fd", "_loop", "_on_drained", "_queue", "_socket", "_waiting", "queued_bytes")

    def __init__(self, transport: asyncio.Transport, on_drained: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._fd: int = transport.get_extra_info("socket").fileno()
        self._socket: socket.socket | None = None
        self._queue: deque[Piece] = deque()
        self._waiting = False
        self._on_drained = on_drained
        self.queued_bytes = 0

    def write(self, pieces: Sequence[Piece]) -> None:
        """Send the pieces now, or as soon as the client reads. Raises OSError when the client is gone."""
        if self._queue:
            self._enqueue(pieces)
            return
        if len(pieces) == 1 and type(pieces[0]) is bytes:
            data = pieces[0]
            try:
                sent = os.write(self._fd, data)
            except BlockingIOError:
                sent = 0
            if sent != len(data):
                self._append(memoryview(data)[sent:])
                self._wait()
            return
        self._enqueue(pieces)
        self._pump()

    def _enqueue(self, pieces: Sequence[Piece]) -> None:
        """Queue pieces; neighbours that are bytes (small slices included) become one."""
        run: list[bytes | memoryview] = []
        for piece in pieces:
            if isinstance(piece, Slice):
                if piece.length < SENDFILE_FROM_BYTES:
                    run.append(piece.read())
                    continue
                if run:
                    self._append(b"".join(run))
                    run = []
                self._queue.append(piece)
                self.queued_bytes += piece.length
            else:
                run.append(piece)
        if run:
            self._append(run[0] if len(run) == 1 else b"".join(run))

    def _append(self, data: bytes | memoryview) -> None:
        self._queue.append(data)
        self.queued_bytes += len(data)

    def _pump(self) -> None:
        """Send from the queue until it is empty or the socket is full."""
        queue = self._queue
        while queue:
            piece = queue[0]
            try:
                if isinstance(piece, Slice):
                    size = piece.length
                    sent = os.sendfile(self._fd, piece.fd, piece.position, size)
                    if sent == 0:
                        raise ConnectionAbortedError("a segment file ended before its slice did")
                    piece.position += sent
                    piece.length -= sent
                else:
                    size = len(piece)
                    if len(queue) > 1:  # more follows: let the kernel put both into one packet
                        sent = self._own_socket().send(piece, socket.MSG_MORE)
                    else:
                        sent = os.write(self._fd, piece)
                    if sent < size:
                        queue[0] = memoryview(piece)[sent:]
            except BlockingIOError:
                self._wait()
                return
            self.queued_bytes -= sent
            if sent == size:
                queue.popleft()
        if self._waiting:
            self._waiting = False
            self._loop.remove_writer(self._own_socket().fileno())
            self._on_drained()

    def _wait(self) -> None:
        if not self._waiting:
            self._waiting = True
            self._loop.add_writer(self._own_socket().fileno(), self._writable)

    def _writable(self) -> None:
        try:
            self._pump()
        except OSError:
            self.close()
            self._on_drained()

    @property
    def has_sent_all(self) -> bool:
        return not self._queue

    @property
    def queued_memory(self) -> int:
        """Of `queued_bytes` those that are not in files."""
        return sum(len(piece) for piece in self._queue if not isinstance(piece, Slice))

    def _own_socket(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.socket(fileno=os.dup(self._fd))
        return self._socket

    def resume(self) -> None:
        """It notices by itself when the socket takes more."""

    def close(self) -> None:
        """Forget what is queued and free the duplicate descriptor."""
        self._queue.clear()
        self.queued_bytes = 0
        if self._socket is not None:
            if self._waiting:
                self._waiting = False
                self._loop.remove_writer(self._socket.fileno())
            self._socket.close()
            self._socket = None


class TransportWriter:
    """For a transport that is no socket: the simulator's."""

    __slots__ = ("_transport",)

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    @property
    def queued_bytes(self) -> int:
        return self._transport.get_write_buffer_size()

    @property
    def has_sent_all(self) -> bool:
        return True  # a transport that is closed sends what it has

    @property
    def queued_memory(self) -> int:
        return self._transport.get_write_buffer_size()

    def write(self, pieces: Sequence[Piece]) -> None:
        self._transport.write(b"".join(piece.read() if isinstance(piece, Slice) else piece for piece in pieces))

    def resume(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """Nothing of its own to free."""


class TlsWriter:
    """Through a TLS transport, which encrypts what it is given at once and keeps it until the socket takes it.

    So it is given little at a time: slices of files stay in the files until there is room, and are read in pieces of
    `TLS_PIECE_BYTES` (larger ones cost twice the CPU, smaller ones a third more). `resume` goes on when the transport
    has sent most of what it had.
    """

    __slots__ = ("_queue", "_queued", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        assert transport.get_extra_info("ssl_object") is not None, "plain text must not pass for TLS"
        self._transport = transport
        transport.set_write_buffer_limits(high=TLS_BUFFER_BYTES, low=TLS_PIECE_BYTES)
        self._queue: deque[Piece] = deque()
        self._queued = 0

    @property
    def queued_bytes(self) -> int:
        return self._queued + self._transport.get_write_buffer_size()

    @property
    def has_sent_all(self) -> bool:
        return not self._queue  # the transport sends what it was given, when it is closed as well

    @property
    def queued_memory(self) -> int:
        waiting = sum(len(piece) for piece in self._queue if not isinstance(piece, Slice))
        return waiting + self._transport.get_write_buffer_size()

    def write(self, pieces: Sequence[Piece]) -> None:
        if not self._queue and len(pieces) == 1 and type(pieces[0]) is bytes and len(pieces[0]) <= TLS_PIECE_BYTES:
            self._transport.write(pieces[0])
            return
        for piece in pieces:
            self._queue.append(piece)
            self._queued += piece.length if isinstance(piece, Slice) else len(piece)
        self.resume()

    def resume(self) -> None:
        """Hand over as much as there is room for."""
        queue, transport = self._queue, self._transport
        while queue and transport.get_write_buffer_size() <= TLS_BUFFER_BYTES:  # above it the transport says when
            transport.write(self._next_piece())

    def _next_piece(self) -> bytes:
        """What is encrypted at once: neighbours are joined, so that a small head makes no TLS record of its own."""
        parts: list[bytes | memoryview] = []
        room = TLS_PIECE_BYTES
        while self._queue and room > 0:
            piece = self._queue.popleft()
            size = piece.length if isinstance(piece, Slice) else len(piece)
            if not size:
                continue
            part = piece.read(min(size, room)) if isinstance(piece, Slice) else memoryview(piece)[:room]
            if isinstance(piece, Slice) and not part:
                raise ConnectionAbortedError("a segment file ended before its slice did")
            if len(part) < size:
                self._queue.appendleft(_rest(piece, len(part)))
            parts.append(part)
            room -= len(part)
        data = b"".join(parts)
        self._queued -= len(data)
        return data

    def close(self) -> None:
        self._queue.clear()
        self._queued = 0


def _rest(piece: Piece, sent: int) -> Piece:
    if isinstance(piece, Slice):
        piece.position += sent
        piece.length -= sent
        return piece
    return memoryview(piece)[sent:]


Writer = SocketWriter | TlsWriter | TransportWriter


def pause_reading(transport: asyncio.Transport) -> None:
    """A TLS transport goes on receiving up to 0.5 MiB, which no limit for requests knows of: here it stops at once.
    Not while it is read, because reaching the limit costs system calls each time."""
    if (limit := getattr(transport, "set_read_buffer_limits", None)) is not None:
        limit(high=0)
    transport.pause_reading()


def resume_reading(transport: asyncio.Transport) -> None:
    if (limit := getattr(transport, "set_read_buffer_limits", None)) is not None:
        limit()
    transport.resume_reading()


def writer_for(transport: asyncio.Transport, on_drained: Callable[[], None]) -> Writer:
    if transport.get_extra_info("ssl_object") is not None:
        return TlsWriter(transport)
    if transport.get_extra_info("socket") is None:
        return TransportWriter(transport)
    return SocketWriter(transport, on_drained)

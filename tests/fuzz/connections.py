"""A real Connection fed by hand: the bytes of a client in pieces of any size, without a socket."""

from __future__ import annotations

import random
from typing import Any

from barnabas.broker.network.connection import Connection
from barnabas.broker.network.writer import TransportWriter
from barnabas.model import limits
from barnabas.wire.errors import ProtocolError

_MAX_BYTES = 1 << 16


class _Memory:
    def changed(self, by_bytes: int) -> None: ...
    def begun(self, holder: Any) -> None: ...
    def ended(self, holder: Any) -> None: ...
    def gone(self, holder: Any) -> None: ...
    def may_grow(self, holder: Any, more_bytes: int) -> bool:
        return True


class _Transport:
    """Takes no bytes: nothing is answered here."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True

    abort = close


class _Listener:
    """What a connection asks of its listener and dispatcher; frames are noted, not answered."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.dispatcher = self
        self.receive_buffer = memoryview(bytearray(limits.RECEIVE_BUFFER_BYTES))
        self.request_max_bytes = _MAX_BYTES
        self.request_memory = _Memory()

    def tell_refused(self, *words: str) -> None:
        """Nobody listens."""

    def loop_time(self) -> float:
        return 0.0

    def handle(self, connection: Connection, frame: memoryview) -> None:
        self.frames.append(bytes(frame))


class Refused(ProtocolError):
    """The connection closed itself."""


def received(data: bytes, rng: random.Random) -> list[bytes]:
    """The frames handled; Refused when the connection was closed because of them."""
    listener = _Listener()
    connection = Connection(listener)  # type: ignore[arg-type]
    transport = _Transport()
    connection._transport = transport  # type: ignore[assignment]
    connection._writer = TransportWriter(transport)  # type: ignore[arg-type]
    at = 0
    while at < len(data) and not connection.closed:
        room = connection.get_buffer(-1)
        piece = data[at : at + min(rng.choice((1, 3, 4, 5, 17, 100, 5000)), len(room))]
        assert piece, "no room to receive into"
        room[: len(piece)] = piece
        connection.buffer_updated(len(piece))
        at += len(piece)
    if connection.closed:
        raise Refused(f"closed after {len(listener.frames)} frames")
    whole = sum(4 + len(frame) for frame in listener.frames)
    assert b"".join(len(frame).to_bytes(4) + frame for frame in listener.frames) == data[:whole]
    return listener.frames

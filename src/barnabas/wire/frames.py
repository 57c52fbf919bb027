"""Cutting frames out of what a connection has received: four bytes of length, then the message.

Refuses, before anything is allocated, a length over the limit and one too short for a header; Kafka closes the
connection then, and so do we. Every frame is cut by `frame_end`: requests in broker/network/connection.py, answers in
link/exchange.py.
"""

from struct import Struct

from barnabas.wire.errors import ProtocolError

LENGTH_BYTES = 4
HEADER_MIN_BYTES = 8  # of a request: api key, api version, correlation id
_length_at = Struct(">i").unpack_from


def frame_end(
    buffer: bytes | bytearray | memoryview, start: int, end: int, max_bytes: int, min_bytes: int = HEADER_MIN_BYTES
) -> int:
    """The byte after the frame whose length stands at `start`, whether or not it has arrived; 0 while the length itself
    has not. The message begins LENGTH_BYTES behind `start`."""
    if end - start < LENGTH_BYTES:
        return 0
    length: int = _length_at(buffer, start)[0]
    if min_bytes <= length <= max_bytes:
        return start + LENGTH_BYTES + length
    raise ProtocolError(f"a frame of {length} bytes (the limit is {max_bytes})")

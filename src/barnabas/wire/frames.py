"""Cutting frames out of a connection's buffer: four bytes of length, then the message.

Refuses a negative length and one over the limit before anything is allocated for it; Kafka's broker closes the
connection then, and so does ours. A length of zero is left to the header parser, which refuses it as too short.
"""

from struct import Struct

from barnabas.wire.errors import ProtocolError

LENGTH_BYTES = 4
_LENGTH = Struct(">i")


def next_frame(buffer: bytearray | memoryview, start: int, end: int, max_bytes: int) -> tuple[int, int] | None:
    """(first byte, byte after the last) of the message whose length stands at `start`; None until it is all there."""
    wanted = frame_bytes(buffer, start, end, max_bytes)
    return None if start + wanted > end else (start + LENGTH_BYTES, start + wanted)


def frame_bytes(buffer: bytearray | memoryview, start: int, end: int, max_bytes: int) -> int:
    """Bytes of the frame at `start`, its length field included; four as long as the length itself is not there."""
    if end - start < LENGTH_BYTES:
        return LENGTH_BYTES
    length: int = _LENGTH.unpack_from(buffer, start)[0]
    if length < 0 or length > max_bytes:
        raise ProtocolError(f"a frame of {length} bytes, {max_bytes} are allowed")
    return LENGTH_BYTES + length

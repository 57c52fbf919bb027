"""Variable-length integers: zigzag in records, unsigned in flexible messages, and the tags that are made of them.

Seven bits a byte, the lowest first, the top bit says that more follow. Refuses what goes on past the bytes its width
can need. Readers give (value, position after it) and raise IndexError where the data ends too early, which their
callers turn into a ProtocolError.
"""

from barnabas.model.limits import TAGGED_FIELDS_MAX
from barnabas.wire.errors import ProtocolError

# --- zigzag: the deltas and lengths of records ------------------------------------------------------------------------


def read_varint(data: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """A zigzag varint of at most 32 bits and the position after it; IndexError past the end."""
    value = data[position]
    position += 1
    if value >= 0x80:
        byte = data[position]
        position += 1
        value += (byte << 7) - 0x80
        if byte < 0x80:  # two bytes: what the length of most records and values takes
            return (value >> 1) ^ -(value & 1), position
        value -= 0x80 << 7
        for shift in (14, 21, 28):
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        else:
            raise ProtocolError("a varint of more than 5 bytes")
        value &= 0xFFFFFFFF
    return (value >> 1) ^ -(value & 1), position


def read_varlong(data: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """A zigzag varint of at most 64 bits and the position after it; IndexError past the end."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFFFFFFFFFF
            return (value >> 1) ^ -(value & 1), position
    raise ProtocolError("a varlong of more than 10 bytes")


def write_varint(out: bytearray, value: int) -> None:
    """Append a zigzag varint (of 32 or 64 bits: the encoding is the same)."""
    value = (value << 1) ^ (value >> 63)
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def varint(value: int) -> bytes:
    """The same as bytes of their own. The small ones (lengths, counts, deltas) are remembered."""
    known = _KNOWN.get(value)
    if known is None:
        out = bytearray()
        write_varint(out, value)
        known = bytes(out)
        if -_KNOWN_MAX <= value < _KNOWN_MAX:
            _KNOWN[value] = known
    return known


_KNOWN: dict[int, bytes] = {}
_KNOWN_MAX = 8192  # what two bytes hold


# --- unsigned: the lengths of flexible messages (KIP-482) -------------------------------------------------------------


def long_uvarint(data: bytes | bytearray | memoryview, position: int, first: int) -> tuple[int, int]:
    """The rest of an unsigned varint whose first byte was `first`; five bytes hold 32 bits, and no more may follow."""
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ProtocolError("a varint of more than 5 bytes")


def uvarint(data: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    first = data[position]
    return (first, position + 1) if first < 0x80 else long_uvarint(data, position + 1, first)


def skip_tags(data: bytes | bytearray | memoryview, position: int, count: int) -> int:
    """The position after `count` tagged fields nobody here knows; `count` is its own first byte."""
    if count > 0x7F:
        count, position = long_uvarint(data, position, count)
    end = len(data)
    if count > TAGGED_FIELDS_MAX or count * 2 > end - position:
        raise cut("tagged fields", count)
    for _ in range(count):
        _tag, position = uvarint(data, position)
        size, position = uvarint(data, position)
        position += size
        if position > end:
            raise cut("a tagged field", size)
    return position


def uvarint_bytes(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def cut(field: str, length: int) -> ProtocolError:
    return ProtocolError(f"{field}: {length} is not a length it can have here")

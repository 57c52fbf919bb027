"""How a record says which schema it was written with.

    0, id (4 bytes), data                   before the data: what every client reads
    1, GUID (16 bytes)                      in the header __key_schema_id or __value_schema_id; the data are plain

Behind either Protobuf says which message of its file it is: the number of indexes and each of them, as zigzag varints;
one zero stands for the first message, which is the usual case.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple
from uuid import UUID

from barnabas.client.serde.serializers import Part, RecordHeaders

PREFIX_BYTES = 5
HEADER_NAMES: dict[Part, str] = {"key": "__key_schema_id", "value": "__value_schema_id"}
_ID = Struct(">bI")
_GUID_BYTES = 17
_INDEXES_MAX = 64  # messages in messages: more would not be written by anybody
_VARINT_MAX_BITS = 35

SchemaKey = int | str  # an id, or a GUID as text


class Framed(NamedTuple):
    key: SchemaKey
    data: bytes
    start: int  # of the data, or of what Protobuf has before them


def prefix(schema_id: int) -> bytes:
    return _ID.pack(0, schema_id)


def guid_header(guid: str) -> bytes:
    return b"\x01" + UUID(guid).bytes


def read(data: bytes, headers: RecordHeaders | None, part: Part) -> Framed:
    """Which schema, and where the data are. ValueError where nothing says it."""
    if headers:
        name = HEADER_NAMES[part]
        for each, value in headers:
            if each == name and value is not None:
                return _of_header(value, data)
    if len(data) >= PREFIX_BYTES and data[0] == 0:
        return Framed(_ID.unpack_from(data)[1], data, PREFIX_BYTES)
    if len(data) >= _GUID_BYTES and data[0] == 1:
        return Framed(str(UUID(bytes=data[1:_GUID_BYTES])), data, _GUID_BYTES)
    raise ValueError(
        f"no schema id before the data and none in the header {HEADER_NAMES[part]}: not written with a registry"
    )


def is_framed(data: bytes, headers: RecordHeaders | None, part: Part) -> bool:
    """Whether it looks as if a schema were named. Registries count from 1: eight bytes of a small number are none."""
    if headers and any(name == HEADER_NAMES[part] for name, _ in headers):
        return True
    if len(data) >= PREFIX_BYTES and data[0] == 0:
        return any(data[1:PREFIX_BYTES])
    return len(data) >= _GUID_BYTES and data[0] == 1


def _of_header(value: bytes, data: bytes) -> Framed:
    """What Protobuf says of the message stands in the header, behind the GUID: it is put before the data here."""
    if len(value) >= _GUID_BYTES and value[0] == 1:
        return Framed(str(UUID(bytes=value[1:_GUID_BYTES])), value[_GUID_BYTES:] + data, 0)
    if len(value) >= PREFIX_BYTES and value[0] == 0:
        return Framed(_ID.unpack_from(value)[1], value[PREFIX_BYTES:] + data, 0)
    raise ValueError("the header with the schema's id is damaged")


def indexes_bytes(indexes: Sequence[int]) -> bytes:
    if list(indexes) == [0]:
        return b"\x00"
    return b"".join(_varint(each) for each in (len(indexes), *indexes))


def read_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """The indexes and where the message begins."""
    count, at = _read_varint(data, start)
    if count == 0:
        return (0,), at
    if not 0 < count <= _INDEXES_MAX:
        raise ValueError("the message indexes of Protobuf are damaged")
    found = []
    for _ in range(count):
        index, at = _read_varint(data, at)
        found.append(index)
    return tuple(found), at


def _varint(number: int) -> bytes:
    left, out = number << 1, bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift >= _VARINT_MAX_BITS:
            raise ValueError("the message indexes of Protobuf are damaged")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7

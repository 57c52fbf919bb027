"""Reading and writing Kafka's primitive types, for records that no API schema describes.

Flexible versions use unsigned varints for lengths (plus one, 0 is null) and end with tagged fields; the older ones use
int16/int32 lengths. A reader never looks past its bytes: a short record raises `RecordError`.
"""

import struct
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_I16 = struct.Struct(">h")
_I32 = struct.Struct(">i")
_I64 = struct.Struct(">q")


class RecordError(ValueError):
    """A record that does not follow its schema."""


class Writer:
    __slots__ = ("buffer",)

    def __init__(self) -> None:
        self.buffer = bytearray()

    def done(self) -> bytes:
        return bytes(self.buffer)

    def i8(self, value: int) -> None:
        self.buffer += value.to_bytes(1, "big", signed=True)

    def i16(self, value: int) -> None:
        self.buffer += _I16.pack(value)

    def i32(self, value: int) -> None:
        self.buffer += _I32.pack(value)

    def i64(self, value: int) -> None:
        self.buffer += _I64.pack(value)

    def raw(self, value: bytes) -> None:
        self.buffer += value

    def uvarint(self, value: int) -> None:
        while value > 0x7F:
            self.buffer.append(value & 0x7F | 0x80)
            value >>= 7
        self.buffer.append(value)

    def string(self, value: str | None) -> None:
        if value is None:
            self.i16(-1)
            return
        data = value.encode()
        self.i16(len(data))
        self.buffer += data

    def bytes32(self, value: bytes) -> None:
        self.i32(len(value))
        self.buffer += value

    def compact_string(self, value: str | None) -> None:
        if value is None:
            self.buffer.append(0)
            return
        data = value.encode()
        self.uvarint(len(data) + 1)
        self.buffer += data

    def compact_bytes(self, value: bytes) -> None:
        self.uvarint(len(value) + 1)
        self.buffer += value

    def tags(self, *fields: tuple[int, bytes | None]) -> None:
        """Tagged fields in order of their tag; a field whose payload is None has its default and is left out."""
        present = [(tag, payload) for tag, payload in fields if payload is not None]
        self.uvarint(len(present))
        for tag, payload in present:
            self.uvarint(tag)
            self.uvarint(len(payload))
            self.buffer += payload


class Reader:
    __slots__ = ("data", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, size: int) -> bytes:
        end = self.position + size
        if size < 0 or end > len(self.data):
            raise RecordError(f"record ends after {len(self.data)} bytes, {size} wanted at {self.position}")
        piece = self.data[self.position : end]
        self.position = end
        return piece

    def i8(self) -> int:
        return int.from_bytes(self.take(1), "big", signed=True)

    def i16(self) -> int:
        return int(_I16.unpack(self.take(2))[0])

    def i32(self) -> int:
        return int(_I32.unpack(self.take(4))[0])

    def i64(self) -> int:
        return int(_I64.unpack(self.take(8))[0])

    def uuid(self) -> bytes:
        return self.take(16)

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise RecordError("varint longer than five bytes")

    def _text(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise RecordError("text that is not UTF-8") from error

    def string(self) -> str | None:
        size = self.i16()
        return None if size < 0 else self._text(self.take(size))

    def bytes32(self) -> bytes | None:
        size = self.i32()
        return None if size < 0 else self.take(size)

    def array(self, read_one: Callable[[], T]) -> list[T]:
        return self._items(self.i32(), read_one)

    def compact_string(self) -> str | None:
        size = self.uvarint() - 1
        return None if size < 0 else self._text(self.take(size))

    def compact_bytes(self) -> bytes:
        return self.take(max(0, self.uvarint() - 1))

    def compact_array(self, read_one: Callable[[], T]) -> list[T]:
        return self._items(self.uvarint() - 1, read_one)

    def _items(self, count: int, read_one: Callable[[], T]) -> list[T]:
        if count > len(self.data) - self.position:
            raise RecordError(f"array of {count} in {len(self.data) - self.position} bytes")
        return [read_one() for _ in range(count)]

    def tags(self) -> dict[int, bytes]:
        fields = {}
        for _ in range(self.uvarint()):
            tag = self.uvarint()
            fields[tag] = self.take(self.uvarint())
        return fields


def text(value: str | None) -> str:
    """A string that its schema does not allow to be null."""
    if value is None:
        raise RecordError("null where the schema wants a string")
    return value

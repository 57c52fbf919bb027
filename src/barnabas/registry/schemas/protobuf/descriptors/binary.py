"""The bytes of a FileDescriptorProto, read with the custom options that its references and the known files define."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.registry.schemas.parsed import InvalidSchema
from barnabas.registry.schemas.protobuf.descriptors.build import pool_with
from barnabas.registry.schemas.protobuf.descriptors.pool import message_class
from barnabas.registry.schemas.protobuf.descriptors.read import read
from barnabas.registry.schemas.protobuf.tree import File

if TYPE_CHECKING:
    from google.protobuf.message import Message


def read_binary(data: bytes, others: dict[str, File]) -> File:
    from google.protobuf.message import DecodeError

    pool = pool_with(others)
    descriptor = message_class(pool, "google.protobuf.FileDescriptorProto")()
    try:
        descriptor.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError):
        raise InvalidSchema("the schema is base64, but not of a FileDescriptorProto") from None
    if not _is_text(descriptor):
        raise InvalidSchema("a name in the FileDescriptorProto is not UTF-8")
    return read(descriptor)  # type: ignore[arg-type]


def _is_text(message: Message) -> bool:
    """Whether strings are strings: Protobuf's library gives the bytes of those that are not UTF-8."""
    waiting = [message]
    while waiting:
        for field, value in waiting.pop().ListFields():
            if field.type == field.TYPE_STRING and any(isinstance(each, bytes) for each in _values(value)):
                return False
            if field.message_type is not None and not field.message_type.GetOptions().map_entry:
                waiting.extend(value if field.is_repeated else (value,))
    return True


def _values(value: object) -> Iterable[object]:
    return (value,) if isinstance(value, str | bytes) else value  # type: ignore[return-value]

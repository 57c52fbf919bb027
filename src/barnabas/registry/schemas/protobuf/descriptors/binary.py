"""The bytes of a FileDescriptorProto, read with the custom options that its references and the known files define."""

from __future__ import annotations

from barnabas.registry.schemas.parsed import InvalidSchema
from barnabas.registry.schemas.protobuf import known
from barnabas.registry.schemas.protobuf.descriptors.build import pool_for
from barnabas.registry.schemas.protobuf.descriptors.pool import message_class
from barnabas.registry.schemas.protobuf.descriptors.read import read
from barnabas.registry.schemas.protobuf.tree import File


def read_binary(data: bytes, others: dict[str, File]) -> File:
    from google.protobuf.message import DecodeError

    pool = pool_for({**known.files(), **others})
    descriptor = message_class(pool, "google.protobuf.FileDescriptorProto")()
    try:
        descriptor.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError):
        raise InvalidSchema("the schema is base64, but not of a FileDescriptorProto") from None
    return read(descriptor)  # type: ignore[arg-type]

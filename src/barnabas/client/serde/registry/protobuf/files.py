"""Classes for messages that no generated code is here for, from the files that a registry has."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import TYPE_CHECKING

from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from barnabas.client.errors import BadSetting
from barnabas.client.serde.registry.framing import SchemaKey
from barnabas.client.serde.serializers import Value

if TYPE_CHECKING:
    from barnabas.client.serde.registry.registry import Registry

_BUILT_IN = {
    each.DESCRIPTOR.name: each.DESCRIPTOR.serialized_pb
    for each in (any_pb2, source_context_pb2, type_pb2, api_pb2, descriptor_pb2, duration_pb2, empty_pb2,
                 field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
}  # fmt: skip
_ONLY_OPTIONS = "confluent/meta.proto"  # of fields and messages: data are read without it


def is_built_in(name: str) -> bool:
    """Files that every client has, which are not registered."""
    return name.startswith(("google/protobuf/", "google/type/", "confluent/"))


def messages_of(key: SchemaKey, registry: Registry) -> Callable[[tuple[int, ...]], type[Value]]:
    """The function from message indexes to a class, of the schema with this id or GUID."""
    schema = registry.schema(key, format="serialized")
    if schema.type != "PROTOBUF":
        raise BadSetting(f"schema {key} is {schema.type}, not PROTOBUF")
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()
    for name, each in registry.references(schema, format="serialized"):
        if not is_built_in(name) or name not in _BUILT_IN:
            _add(pool, _file(each.text, name), added)
    file = _file(schema.text, f"schema-{key}.proto")
    _add(pool, file, added)
    top = list(pool.FindFileByName(file.name).message_types_by_name.values())

    def choose(indexes: tuple[int, ...]) -> type[Value]:
        try:
            found = top[indexes[0]]
            for index in indexes[1:]:
                found = found.nested_types[index]
        except IndexError:
            raise ValueError(f"schema {key} has no message {'.'.join(map(str, indexes))}") from None
        made: type[Value] = GetMessageClass(found)
        return made

    return choose


def _file(text: str, name: str) -> Value:
    file = descriptor_pb2.FileDescriptorProto()
    try:
        file.ParseFromString(base64.b64decode(text, validate=True))
    except (DecodeError, binascii.Error, ValueError):
        raise BadSetting(f"the registry does not give {name} as a serialized file (format=serialized)") from None
    file.name = name
    return file


def _add(pool: Value, file: Value, added: set[str]) -> None:
    kept = [each for each in file.dependency if each != _ONLY_OPTIONS or each in added]
    if len(kept) != len(file.dependency):
        del file.dependency[:], file.public_dependency[:], file.weak_dependency[:]
        file.dependency.extend(kept)
    try:
        for name in kept:
            if name in _BUILT_IN and name not in added:
                _add_built_in(pool, name, added)
        pool.Add(file)
        pool.FindFileByName(file.name)
    except (TypeError, KeyError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise BadSetting(f"the Protobuf schema {file.name} cannot be used: {reason}") from None
    added.add(file.name)


def _add_built_in(pool: Value, name: str, added: set[str]) -> None:
    file = descriptor_pb2.FileDescriptorProto.FromString(_BUILT_IN[name])
    for each in file.dependency:
        if each not in added:
            _add_built_in(pool, each, added)
    pool.Add(file)
    added.add(name)

"""The Protobuf message that columns have, and rows as messages.

Fields are `optional`, so that null is not zero. Numbers are for ever: a field that the latest version has under the
same name keeps its number, and the number of one that is gone is not given again.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, datetime

from pyspark.sql import types

from barnabas.client.serde.registry.framing import indexes_bytes
from barnabas.model.json_values import Json
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.values.avro import avro_name
from barnabas.pipelines.source.values.protobuf import Described, is_map, is_repeated, message_class
from barnabas.pipelines.source.values.settings import ValueOptions

_TIMESTAMP = "google.protobuf.Timestamp"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_RESERVED, _LAST_RESERVED = 19_000, 19_999  # Protobuf's own
_PLAIN = {
    "boolean": "TYPE_BOOL",
    "byte": "TYPE_INT32",
    "short": "TYPE_INT32",
    "integer": "TYPE_INT32",
    "long": "TYPE_INT64",
    "float": "TYPE_FLOAT",
    "double": "TYPE_DOUBLE",
    "string": "TYPE_STRING",
    "binary": "TYPE_BYTES",
}


def protobuf_schema(kind: types.StructType, subject: str, old: Described | None) -> str:
    """A file with this one message, as the registry takes it: serialized, in base64."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    file = FileDescriptorProto(name="value.proto", syntax="proto3")
    if old is not None:
        file.package = old.file.package
    name = old.name if old is not None else avro_name(subject.removesuffix("-value"))
    message = file.message_type.add(name=name)
    full_name = f".{file.package}.{name}" if file.package else f".{name}"
    _fill(message, kind, full_name, old)
    if _uses_timestamps(message):
        file.dependency.append("google/protobuf/timestamp.proto")
    return base64.b64encode(file.SerializeToString()).decode()


def _fill(message: Described, kind: types.StructType, full_name: str, old: Described | None) -> None:
    before = {} if old is None else {each.name: each for each in old.fields}
    used = max((each.number for each in before.values()), default=0)
    for each in kind.fields:
        if avro_name(each.name) != each.name:
            raise PipelineError(f"column {each.name!r} cannot be a field of Protobuf: letters, digits and _ only")
        field = message.field.add(name=each.name)
        if each.name in before:
            field.number = before[each.name].number
        else:
            used = _LAST_RESERVED + 1 if _FIRST_RESERVED <= used + 1 <= _LAST_RESERVED else used + 1
            field.number = used
        inner = before[each.name].message_type if each.name in before else None
        _type(message, field, each.dataType, full_name, inner)


def _type(message: Described, field: Described, kind: types.DataType, full_name: str, old: Described | None) -> None:
    field.label = field.LABEL_OPTIONAL
    if isinstance(kind, types.MapType):
        entry = message.nested_type.add(name="".join(part.title() for part in field.name.split("_")) + "Entry")
        entry.options.map_entry = True
        for number, (name, each) in enumerate((("key", kind.keyType), ("value", kind.valueType)), 1):
            part = entry.field.add(name=name, number=number)
            _type(entry, part, each, f"{full_name}.{entry.name}", None)
            part.proto3_optional = False
            del entry.oneof_decl[:]
            part.ClearField("oneof_index")
        field.label, field.type, field.type_name = field.LABEL_REPEATED, field.TYPE_MESSAGE, f"{full_name}.{entry.name}"
        return
    if isinstance(kind, types.ArrayType):
        if isinstance(kind.elementType, (types.ArrayType, types.MapType)):
            raise PipelineError(f"column {field.name!r}: an array of arrays or maps has no type in Protobuf")
        _single(message, field, kind.elementType, full_name, old)
        field.label = field.LABEL_REPEATED
        return
    _single(message, field, kind, full_name, old)
    if field.type != field.TYPE_MESSAGE:  # as protoc writes `optional`: a oneof of one
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{field.name}")


def _single(message: Described, field: Described, kind: types.DataType, full_name: str, old: Described | None) -> None:
    if isinstance(kind, types.StructType):
        inner = message.nested_type.add(name=avro_name(f"{field.name}_type"))
        field.type, field.type_name = field.TYPE_MESSAGE, f"{full_name}.{inner.name}"
        _fill(inner, kind, f"{full_name}.{inner.name}", old)
    elif kind.typeName() == "timestamp":
        field.type, field.type_name = field.TYPE_MESSAGE, f".{_TIMESTAMP}"
    elif kind.typeName() in _PLAIN:
        field.type = getattr(field, _PLAIN[kind.typeName()])
    else:
        raise PipelineError(f"a column of type {kind.simpleString()} has no type in Protobuf: cast it")


def _uses_timestamps(message: Described) -> bool:
    own = any(each.type_name == f".{_TIMESTAMP}" for each in message.field)
    return own or any(_uses_timestamps(each) for each in message.nested_type)


def _class(schema: str | bytes, name: str) -> type[Described]:
    return message_class(ValueOptions("protobuf", schema, name))


def indexes_of(schema: str | bytes, name: str) -> bytes:
    """Where the message stands in its file, as a record says it."""
    described, found = _class(schema, name).DESCRIPTOR, list[int]()
    while described is not None:
        outer = described.containing_type
        beside = outer.nested_types if outer is not None else described.file.message_types_by_name.values()
        found.insert(0, [each.full_name for each in beside].index(described.full_name))
        described = outer
    return indexes_bytes(found)


def protobuf_writer(schema: str | bytes, name: str, prefix: bytes) -> Callable[[Json], bytes]:
    made = _class(schema, name)

    def to_bytes(row: Json) -> bytes:
        message = made()
        _set(message, row)
        data: bytes = message.SerializeToString()
        return prefix + data

    return to_bytes


def _set(message: Described, row: Json) -> None:
    fields = message.DESCRIPTOR.fields_by_name
    for name, value in row.items():
        if value is None:
            continue
        field = fields[name]
        if is_map(field):
            _set_map(getattr(message, name), value, field)
        elif is_repeated(field):
            _set_repeated(getattr(message, name), value, field)
        elif field.message_type is None:
            setattr(message, name, _enum(value, field))
        elif field.message_type.full_name == _TIMESTAMP:
            _set_timestamp(getattr(message, name), value)
        else:
            getattr(message, name).SetInParent()
            _set(getattr(message, name), value)


def _set_map(target: Described, value: Json, field: Described) -> None:
    of = field.message_type.fields_by_name["value"]
    for key, each in value.items():
        if of.message_type is None:
            target[key] = _enum(each, of)
        elif of.message_type.full_name == _TIMESTAMP:
            _set_timestamp(target[key], each)
        else:
            _set(target[key], each)


def _set_repeated(target: Described, value: Json, field: Described) -> None:
    for each in value:
        if each is None:
            raise ValueError(f"{field.name}: null in an array, which Protobuf does not have")
        if field.message_type is None:
            target.append(_enum(each, field))
        elif field.message_type.full_name == _TIMESTAMP:
            _set_timestamp(target.add(), each)
        else:
            _set(target.add(), each)


def _enum(value: Json, field: Described) -> Json:
    if field.enum_type is None:
        return int(value) if field.cpp_type == field.CPPTYPE_UINT64 else value
    if value not in field.enum_type.values_by_name:
        raise ValueError(f"{field.name}: {value!r} is no value of {field.enum_type.full_name}")
    return field.enum_type.values_by_name[value].number


def _set_timestamp(target: Described, value: datetime) -> None:
    since = value - _EPOCH
    target.SetInParent()
    target.seconds, target.nanos = since.days * 86_400 + since.seconds, since.microseconds * 1000

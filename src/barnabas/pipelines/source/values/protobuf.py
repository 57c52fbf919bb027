"""Protobuf values, by a descriptor set and the full name of a message; no generated code is needed.

Types follow Spark's own from_protobuf: enums are strings, uint32 is BIGINT, uint64 is DECIMAL(20,0), a
google.protobuf.Timestamp is TIMESTAMP, maps are maps. A field without presence has its default when it is absent; one
with presence (optional, a message, a member of a oneof) is null. A message that contains itself has no column type.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from pyspark.sql import types

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source.values.bad import Bad
from barnabas.pipelines.source.values.settings import ValueOptions

# A message of the user's, or what describes it or a field of it: protobuf has two implementations of each, in Python
# and in C, and what they can be asked differs between its versions.
Described: TypeAlias = Any

_TIMESTAMP = "google.protobuf.Timestamp"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def message_class(options: ValueOptions) -> type[Described]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.message import DecodeError

    assert isinstance(options.schema, bytes) and options.message is not None
    files = descriptor_pb2.FileDescriptorSet()
    try:
        files.ParseFromString(options.schema)
        pool = descriptor_pool.DescriptorPool()
        for each in files.file:
            pool.Add(each)
    except (DecodeError, TypeError) as error:
        raise PipelineError(
            f"valueSchema is not a descriptor set (protoc --include_imports --descriptor_set_out): {error}"
        ) from None
    try:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(options.message))
    except (KeyError, TypeError):
        known = sorted(
            f"{each.package}.{message.name}".lstrip(".") for each in files.file for message in each.message_type
        )
        raise PipelineError(
            f"valueMessage {options.message} is not in the descriptor set: it has {', '.join(known)[:200]}"
        ) from None


def protobuf_type(options: ValueOptions) -> types.StructType:
    return _struct(message_class(options).DESCRIPTOR, ())


def _struct(descriptor: Described, within: tuple[str, ...]) -> types.StructType:
    if descriptor.full_name in within:
        raise PipelineError(f"{descriptor.full_name} contains itself, and a column's type is finite")
    found = types.StructType()
    for field in descriptor.fields:
        found.add(field.name, _column(field, (*within, descriptor.full_name)))
    return found


def _column(field: Described, within: tuple[str, ...]) -> types.DataType:
    if is_map(field):
        entry = field.message_type.fields_by_name
        return types.MapType(_single(entry["key"], within), _single(entry["value"], within))
    single = _single(field, within)
    return types.ArrayType(single) if is_repeated(field) else single


def _single(field: Described, within: tuple[str, ...]) -> types.DataType:
    kinds = {
        field.CPPTYPE_INT32: types.IntegerType(),
        field.CPPTYPE_INT64: types.LongType(),
        field.CPPTYPE_UINT32: types.LongType(),
        field.CPPTYPE_UINT64: types.DecimalType(20, 0),
        field.CPPTYPE_FLOAT: types.FloatType(),
        field.CPPTYPE_DOUBLE: types.DoubleType(),
        field.CPPTYPE_BOOL: types.BooleanType(),
        field.CPPTYPE_ENUM: types.StringType(),
    }
    if field.cpp_type == field.CPPTYPE_MESSAGE:
        if field.message_type.full_name == _TIMESTAMP:
            return types.TimestampType()
        return _struct(field.message_type, within)
    if field.cpp_type == field.CPPTYPE_STRING:
        return types.BinaryType() if field.type == field.TYPE_BYTES else types.StringType()
    return kinds[field.cpp_type]


def is_repeated(field: Described) -> bool:
    repeated = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if repeated is None else repeated)


def is_map(field: Described) -> bool:
    return bool(field.message_type is not None and field.message_type.GetOptions().map_entry)


class ProtobufDecoder:
    def __init__(self, options: ValueOptions) -> None:
        self._class = message_class(options)

    def decode_one(self, value: bytes) -> object:
        from google.protobuf.message import DecodeError

        try:
            return row_of(self._class.FromString(value))
        except DecodeError as error:
            raise Bad(f"not a {self._class.DESCRIPTOR.full_name}: {error}") from None


def row_of(message: Described) -> dict[str, object]:
    found: dict[str, object] = {}
    for field in message.DESCRIPTOR.fields:
        if is_map(field):
            inner = field.message_type.fields_by_name["value"]
            pairs = getattr(message, field.name)
            found[field.name] = [(key, _value(pairs[key], inner)) for key in pairs]
        elif is_repeated(field):
            found[field.name] = [_value(each, field) for each in getattr(message, field.name)]
        elif field.has_presence and not message.HasField(field.name):
            found[field.name] = None
        else:
            found[field.name] = _value(getattr(message, field.name), field)
    return found


def _value(value: Described, field: Described) -> object:
    if field.cpp_type == field.CPPTYPE_MESSAGE:
        if field.message_type.full_name == _TIMESTAMP:
            return _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
        return row_of(value)
    if field.cpp_type == field.CPPTYPE_ENUM:
        named = field.enum_type.values_by_number.get(value)
        return named.name if named is not None else str(value)
    return value

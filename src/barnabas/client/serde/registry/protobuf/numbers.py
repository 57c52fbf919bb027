"""Protobuf's JSON mapping writes numbers of 64 bits as texts; here they are numbers, as in Avro and JSON.

A filter like `.cents > 10` would match nothing otherwise, without a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.client.serde.serializers import Value

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

_OWN_MAPPING = "google.protobuf."  # well-known types are written in ways of their own


def with_numbers(told: Value, of: Descriptor) -> Value:
    """`told`: what json_format made of a message, by the names of the .proto file; it is changed in place."""
    if of.full_name.startswith(_OWN_MAPPING) or not isinstance(told, dict):
        return told
    for name, value in told.items():
        field = of.fields_by_name.get(name)
        if field is not None:
            told[name] = _changed(value, field)
    return told


def _changed(value: Value, field: FieldDescriptor) -> Value:
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        entry = message.fields_by_name["value"]
        return {key: _changed(each, entry) for key, each in value.items()}
    if isinstance(value, list):
        return [_one(each, field) for each in value]
    return _one(value, field)


def _one(value: Value, field: FieldDescriptor) -> Value:
    if field.message_type is not None:
        return with_numbers(value, field.message_type)
    if field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_UINT64) and isinstance(value, str):
        return int(value)
    return value

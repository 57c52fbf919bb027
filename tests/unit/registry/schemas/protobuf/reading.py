"""Data of one schema read with another, by Protobuf's own library: what a consumer of another version sees."""

from __future__ import annotations

from random import Random
from typing import Any  # values of fields are of any type

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from barnabas.registry.schemas.parsed import ParsedSchema
from tests.unit.registry.schemas.protobuf.compiling import descriptor_of

FLOATS = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)


def classes(schema: ParsedSchema) -> dict[str, type[Message]]:
    pool = DescriptorPool()
    pool.Add(descriptor_of(schema))
    file = pool.FindFileByName("default")
    return {name: GetMessageClass(each) for name, each in file.message_types_by_name.items()}


def filled(random: Random, kind: type[Message], depth: int = 0) -> Message:
    """Values that fit every scalar of a group: 0 and 1, short ASCII."""
    message = kind()
    for field in _fields(kind):
        if depth > 2 or (random.random() < 0.2 and not field.is_required):
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            _fill_map(random, field, getattr(message, field.name), depth)
        elif field.is_repeated:
            items = getattr(message, field.name)
            for _ in range(random.randint(0, 3)):
                if field.message_type is not None:
                    items.add().CopyFrom(filled(random, _class(field.message_type), depth + 1))
                else:
                    items.append(_scalar(random, field))
        elif field.message_type is not None:
            getattr(message, field.name).CopyFrom(filled(random, _class(field.message_type), depth + 1))
        else:
            setattr(message, field.name, _scalar(random, field))
    return message


def _fields(kind: type[Message]) -> list[FieldDescriptor]:
    return list(kind.DESCRIPTOR.fields)  # type: ignore[arg-type]


def _class(descriptor: Descriptor) -> type[Message]:
    return GetMessageClass(descriptor)


def _fill_map(random: Random, field: FieldDescriptor, entries: Any, depth: int) -> None:  # a map of any types
    assert field.message_type is not None
    key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
    for _ in range(random.randint(0, 2)):
        if value.message_type is not None:
            entries[_scalar(random, key)].CopyFrom(filled(random, _class(value.message_type), depth + 1))
        else:
            entries[_scalar(random, key)] = _scalar(random, value)


def _scalar(random: Random, field: FieldDescriptor) -> bool | int | float | str | bytes:
    if field.type == FieldDescriptor.TYPE_BOOL:
        return random.random() < 0.5
    if field.type == FieldDescriptor.TYPE_STRING:
        return random.choice(["", "a", "bc"])
    if field.type == FieldDescriptor.TYPE_BYTES:
        return random.choice([b"", b"a", b"bc"])
    if field.cpp_type in FLOATS:
        return random.choice([0.0, 1.5, -2.0])
    return random.choice([0, 1])


def lost(written: Message, read: Message) -> list[str]:
    """Fields that were set and are in both schemas, and that are something else when they are read."""
    found = []
    for field, value in written.ListFields():
        other = read.DESCRIPTOR.fields_by_number.get(field.number)
        if other is None:
            continue
        seen = getattr(read, other.name)
        if field.is_repeated != other.is_repeated:
            value = [value] if other.is_repeated else value[-1]  # the last one is what a single field keeps
            if field.message_type is not None:
                continue  # several messages become one, which has the fields of all
        if not _same(value, seen):
            found.append(f"{field.full_name}: {value!r} was read as {seen!r}")
    return found


def _same(one: Any, other: Any) -> bool:  # a value, a list, a map or a message
    if isinstance(one, Message):
        return isinstance(other, Message) and not lost(one, other)
    if hasattr(one, "items"):
        keys = {_plain(key): key for key in other}
        return len(one) == len(other) and all(_same(one[key], other[keys[_plain(key)]]) for key in one)
    if isinstance(one, str | bytes | int | float):
        return bool(_plain(one) == _plain(other))
    return len(one) == len(other) and all(_same(*pair) for pair in zip(one, other, strict=True))


def _plain(value: Any) -> Any:  # of a key or a scalar
    return value.encode() if isinstance(value, str) else value

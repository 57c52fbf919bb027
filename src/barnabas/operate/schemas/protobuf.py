"""What changed between two files of Protobuf. A field is known by its number, as in the data."""

from __future__ import annotations

import base64
import binascii
from typing import Any, TypeAlias

from google.protobuf import descriptor_pb2
from google.protobuf.message import DecodeError

# Messages of descriptor.proto, which come without types of their own here.
Descriptor: TypeAlias = Any
_LABELS = {1: "", 2: "required ", 3: "repeated "}


def protobuf_changes(old: str, new: str) -> list[str]:
    """Of two serialized files in base64; one that is none is not compared."""
    before, after = _file(old), _file(new)
    if before is None or after is None:
        return []
    found: list[str] = []
    if before.package != after.package:
        found.append(f"the package {before.package or '(none)'} became {after.package or '(none)'}")
    _messages(before.message_type, after.message_type, "", found)
    _enums(before.enum_type, after.enum_type, "", found)
    return found


def _messages(old: Descriptor, new: Descriptor, path: str, found: list[str]) -> None:
    before, after = {each.name: each for each in old}, {each.name: each for each in new}
    found += [f"message {path}{name} was removed" for name in before if name not in after]
    for name, message in after.items():
        if name not in before:
            found.append(f"message {path}{name} was added")
            continue
        _fields(before[name], message, f"{path}{name}", found)
        _messages(before[name].nested_type, message.nested_type, f"{path}{name}.", found)
        _enums(before[name].enum_type, message.enum_type, f"{path}{name}.", found)


def _fields(old: Descriptor, new: Descriptor, path: str, found: list[str]) -> None:
    before, after = {each.number: each for each in old.field}, {each.number: each for each in new.field}
    for number, field in before.items():
        if number not in after:
            found.append(f"field {path}.{field.name} = {number} ({_described(field)}) was removed")
    for number, field in after.items():
        earlier = before.get(number)
        if earlier is None:
            found.append(f"field {path}.{field.name} = {number} ({_described(field)}) was added")
            continue
        if earlier.name != field.name:
            found.append(f"field {path}.{earlier.name} = {number} is called {field.name} now")
        if _described(earlier) != _described(field):
            found.append(f"field {path}.{field.name} = {number}: {_described(earlier)} became {_described(field)}")
        if _oneof(old, earlier) != _oneof(new, field):
            found.append(f"field {path}.{field.name} = {number}: it is in another oneof")


def _enums(old: Descriptor, new: Descriptor, path: str, found: list[str]) -> None:
    before, after = {each.name: each for each in old}, {each.name: each for each in new}
    found += [f"enum {path}{name} was removed" for name in before if name not in after]
    for name, each in after.items():
        if name not in before:
            found.append(f"enum {path}{name} was added")
            continue
        earlier, now = ({value.number: value.name for value in one.value} for one in (before[name], each))
        found += [f"value {path}{name}.{earlier[n]} = {n} was removed" for n in earlier if n not in now]
        for number, word in now.items():
            if number not in earlier:
                found.append(f"value {path}{name}.{word} = {number} was added")
            elif earlier[number] != word:
                found.append(f"value {path}{name}.{earlier[number]} = {number} is called {word} now")


def _oneof(message: Descriptor, field: Descriptor) -> str:
    if not field.HasField("oneof_index") or field.proto3_optional:
        return ""
    return str(message.oneof_decl[field.oneof_index].name)


def _described(field: Descriptor) -> str:
    named = field.type_name.lstrip(".")
    kind = named or descriptor_pb2.FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    return f"{_LABELS.get(field.label, '')}{'optional ' if field.proto3_optional else ''}{kind}"


def _file(text: str) -> Descriptor | None:
    try:
        return descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (DecodeError, binascii.Error, ValueError):
        return None

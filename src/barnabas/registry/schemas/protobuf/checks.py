"""What protoc asks of a file beyond its grammar: names that mean something, numbers and names that are used once."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from barnabas.registry.schemas.parsed import InvalidSchema
from barnabas.registry.schemas.protobuf.scopes import Names, Scope, messages_in
from barnabas.registry.schemas.protobuf.tree import SCALARS, Enum, Extend, Field, File, Message, Reserved, Word, option

_MAP_KEYS = SCALARS - {"double", "float", "bytes"}
_IMPLEMENTATION = range(19_000, 20_000)  # numbers that Protobuf keeps for itself


def check(file: File, names: Names) -> None:
    """InvalidSchema where protoc would refuse the file."""
    scope = names.package(file.package)
    for enum in file.enums:
        _check_enum(enum, file, scope)
    for extend in file.extends:
        _check_extend(extend, file, scope)
    for message, inner in messages_in(scope, file):
        _check_message(message, file, inner)
    for service in file.services:
        for method in service.methods:
            for type in (method.input, method.output):
                found = scope.resolve(type)
                if found is None or found.message is None:
                    raise InvalidSchema(f"{type} of rpc {service.name}.{method.name} is no message that is known here")


def _check_message(message: Message, file: File, scope: Scope) -> None:
    name = scope.local_name
    names: set[str] = set()
    numbers: dict[int, str] = {}
    for field, _ in message.fields():
        if field.name in names:
            raise InvalidSchema(f"{name} has two fields with the name {field.name}")
        if field.number in numbers:
            raise InvalidSchema(f"{name}: {field.name} and {numbers[field.number]} have the same number {field.number}")
        names.add(field.name)
        numbers[field.number] = field.name
        _check_field(field, file, scope, name)
    oneofs = [oneof.name for oneof in message.oneofs]
    if len(set(oneofs)) < len(oneofs):
        raise InvalidSchema(f"{name} has two oneofs with the same name")
    _check_reserved(name, message.reserved, numbers, names)
    if file.syntax == "proto3" and any(each.extensions for each in message.reserved):
        raise InvalidSchema(f"{name}: proto3 has no extension ranges")
    for enum in message.enums:
        _check_enum(enum, file, scope)
    for extend in message.extends:
        _check_extend(extend, file, scope)


def _check_field(field: Field, file: File, scope: Scope, name: str) -> None:
    if field.number in _IMPLEMENTATION:
        raise InvalidSchema(f"{name}: {field.name} has the number {field.number}; 19000 to 19999 are Protobuf's own")
    if file.syntax == "proto3":
        if field.label == "required":
            raise InvalidSchema(f"{name}: {field.name} is required, which proto3 does not have")
        if field.group is not None:
            raise InvalidSchema(f"{name}: {field.type} is a group, which proto3 does not have")
        if field.option("default") is not None:
            raise InvalidSchema(f"{name}: {field.name} has a default, which proto3 does not have")
    if field.map is not None:
        key, value = field.map
        if key not in _MAP_KEYS:
            raise InvalidSchema(f"{name}: the keys of {field.name} are {key}: integers, bool and string are possible")
        _check_type(value, field, scope, name)
    elif field.group is None:
        _check_type(field.type, field, scope, name)


def _check_type(type: str, field: Field, scope: Scope, name: str) -> None:
    if type not in SCALARS and scope.resolve(type) is None:
        raise InvalidSchema(
            f"Could not resolve type: {type} of field {field.name} in {name} is neither defined here "
            "nor in a reference; a file that is imported has to be among the references"
        )


def _check_extend(extend: Extend, file: File, scope: Scope) -> None:
    found = scope.resolve(extend.extendee)
    if found is None or found.message is None:
        raise InvalidSchema(f"Could not resolve type: {extend.extendee}, which is extended, is no message")
    for field in extend.fields:
        if field.label == "required":
            raise InvalidSchema(f"the extension {field.name} of {extend.extendee} is required, which it cannot be")
        if field.map is None and field.group is None:
            _check_type(field.type, field, scope, f"extend {extend.extendee}")
        if field.map is not None:
            raise InvalidSchema(f"the extension {field.name} of {extend.extendee} is a map, which it cannot be")


def _check_enum(enum: Enum, file: File, scope: Scope) -> None:
    if not enum.values:
        raise InvalidSchema(f"enum {enum.name} has no values")
    if file.syntax == "proto3" and enum.values[0].number != 0:
        raise InvalidSchema(f"enum {enum.name}: the first value has to be 0 in proto3")
    aliases = option(enum.options, "allow_alias") == Word("true")
    names: set[str] = set()
    numbers: dict[int, str] = {}
    for value in enum.values:
        if value.name in names:
            raise InvalidSchema(f"enum {enum.name} has two values with the name {value.name}")
        if value.number in numbers and not aliases:
            known = numbers[value.number]
            raise InvalidSchema(
                f"enum {enum.name}: {value.name} and {known} are both {value.number}, which option allow_alias allows"
            )
        names.add(value.name)
        numbers[value.number] = value.name
    _check_reserved(f"enum {enum.name}", enum.reserved, numbers, names)


def _check_reserved(owner: str, statements: list[Reserved], numbers: dict[int, str], names: set[str]) -> None:
    for each in (each for statement in statements for each in statement.ranges):
        if isinstance(each, str) and each in names:
            raise InvalidSchema(f"{owner}: {each} is reserved and used")
    ranges = sorted(each for statement in statements for each in statement.ranges if not isinstance(each, str))
    for (_, before), (first, _) in pairwise(ranges):
        if first <= before:
            raise InvalidSchema(f"{owner}: the number {first} is reserved or given to extensions twice")
    starts = [first for first, _ in ranges]
    for number, name in numbers.items():
        index = bisect_right(starts, number) - 1
        if index >= 0 and number <= ranges[index][1]:
            raise InvalidSchema(f"{owner}: {name} has the number {number}, which is reserved or kept for extensions")

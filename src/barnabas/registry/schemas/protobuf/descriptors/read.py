"""A FileDescriptorProto becomes a tree, as protoc's `--decode` would show it: types have their full names.

Clients of Confluent register schemas this way. What they send is not trusted: the tree is written as text and parsed
like any other (schema.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.registry.schemas.parsed import InvalidSchema
from barnabas.registry.schemas.protobuf.tokens import Budget
from barnabas.registry.schemas.protobuf.tree import (
    EDITIONS,
    ENUM_NUMBER_MAX,
    FIELD_NUMBER_MAX,
    Enum,
    EnumValue,
    Extend,
    Field,
    File,
    Import,
    Mapping,
    Message,
    Method,
    Oneof,
    Option,
    Options,
    Range,
    Reserved,
    Sequence,
    Service,
    Text,
    Value,
    Word,
)

if TYPE_CHECKING:
    from google.protobuf import descriptor_pb2 as pb
    from google.protobuf import message
    from google.protobuf.descriptor import FieldDescriptor

_TYPES = (
    "", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "group", "message",
    "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64",
)  # fmt: skip
_GROUP, _STRING, _BYTES, _ENUM, _BOOL = 10, 9, 12, 14, 8
_LABELS = ("", "optional", "required", "repeated")


def read(descriptor: pb.FileDescriptorProto) -> File:
    return _Reader(descriptor).file()


class _Reader:
    def __init__(self, descriptor: pb.FileDescriptorProto) -> None:
        self._file = descriptor
        self._proto3 = descriptor.syntax == "proto3"
        self._editions = descriptor.syntax == "editions"
        self._budget = Budget()

    def file(self) -> File:
        it = self._file
        edition = next((name for name, number in EDITIONS.items() if number == it.edition), "")
        if self._editions and not edition:
            raise InvalidSchema(f"unknown edition {it.edition}: {' or '.join(EDITIONS)}")
        file = File(it.syntax if not self._editions else "", edition, it.package, options=self._options(it.options))
        public, weak = set(it.public_dependency), set(it.weak_dependency)
        for index, path in enumerate(it.dependency):
            file.imports.append(Import(path, "public" if index in public else "weak" if index in weak else ""))
        groups = {field.type_name.rpartition(".")[2] for field in it.extension if field.type == _GROUP}
        file.body.extend(self._message(each, 0) for each in it.message_type if each.name not in groups)
        file.body.extend(self._enum(each) for each in it.enum_type)
        file.body.extend(self._extends(it.extension, it.message_type))
        for service in it.service:
            methods = [self._method(each) for each in service.method]
            file.body.append(Service(service.name, methods, self._options(service.options)))
        return file

    def _message(self, it: pb.DescriptorProto, depth: int) -> Message:
        self._budget.spend()
        message = Message(it.name, options=self._options(it.options))
        oneofs = [Oneof(each.name, options=self._options(each.options)) for each in it.oneof_decl]
        grouped = {f.type_name.rpartition(".")[2] for f in (*it.field, *it.extension) if f.type == _GROUP}
        for field in it.field:
            made = self._field(field, it.nested_type)
            if not field.HasField("oneof_index") or field.proto3_optional:
                message.body.append(made)
                continue
            if not 0 <= field.oneof_index < len(oneofs):
                raise InvalidSchema(f"the field {field.name} of {it.name} names a oneof that is not there")
            oneof = oneofs[field.oneof_index]
            made.label = None
            if not oneof.fields:
                message.body.append(oneof)
            oneof.fields.append(made)
        message.body.extend(self._extends(it.extension, it.nested_type))
        message.body.extend(self._message(each, depth + 1) for each in it.nested_type if each.name not in grouped)
        message.body.extend(self._enum(each) for each in it.enum_type)
        reserved: list[Range | str] = [(each.start, each.end - 1) for each in it.reserved_range]
        reserved += list(it.reserved_name)
        if reserved:
            message.reserved.append(Reserved(reserved))
        for each in it.extension_range:
            last = min(each.end - 1, FIELD_NUMBER_MAX)
            message.reserved.append(Reserved([(each.start, last)], self._options(each.options), extensions=True))
        return message

    def _field(self, it: pb.FieldDescriptorProto, nested: Iterable[pb.DescriptorProto]) -> Field:
        self._budget.spend()
        label: str | None = _LABELS[it.label]
        if (self._proto3 and label == "optional" and not it.proto3_optional) or (
            self._editions and label != "repeated"
        ):
            label = None
        options = self._options(it.options)
        if it.HasField("default_value"):
            options.append(Option("default", _default(it)))
        if it.HasField("json_name") and it.json_name != json_name(it.name):
            options.append(Option("json_name", Text(it.json_name.encode())))
        if it.type == _GROUP:
            name = it.type_name.rpartition(".")[2]
            body = next((each for each in nested if each.name == name), None)
            if body is not None and it.name == name.lower() and not self._editions:
                return Field(label, name, it.name, it.number, options, group=self._message(body, 0))
        return Field(label or None, it.type_name or _TYPES[it.type], it.name, it.number, options)

    def _extends(self, fields: Iterable[pb.FieldDescriptorProto], nested: Iterable[pb.DescriptorProto]) -> list[Extend]:
        extends: dict[str, Extend] = {}
        for field in fields:
            extend = extends.setdefault(field.extendee, Extend(field.extendee))
            extend.fields.append(self._field(field, nested))
        return list(extends.values())

    def _enum(self, it: pb.EnumDescriptorProto) -> Enum:
        self._budget.spend()
        values = []
        for each in it.value:
            self._budget.spend()
            values.append(EnumValue(each.name, each.number, self._options(each.options)))
        enum = Enum(it.name, values, self._options(it.options))
        reserved: list[Range | str] = [(each.start, min(each.end, ENUM_NUMBER_MAX)) for each in it.reserved_range]
        reserved += list(it.reserved_name)
        if reserved:
            enum.reserved.append(Reserved(reserved))
        return enum

    def _method(self, it: pb.MethodDescriptorProto) -> Method:
        self._budget.spend()
        options = self._options(it.options)
        return Method(it.name, it.input_type, it.output_type, it.client_streaming, it.server_streaming, options)

    def _options(self, options: message.Message) -> Options:
        """Extensions that the class of the descriptor does not know are left out, as in Confluent's registry."""
        found: Options = []
        for field, value in options.ListFields():
            if field.name == "uninterpreted_option":
                continue
            self._budget.spend()
            name = f"({field.full_name})" if field.is_extension else field.name
            if field.is_repeated:  # an option that repeats is said once for each of its values
                found.extend(Option(name, self._value(field, each)) for each in value)
            elif name == "features":
                found.extend(self._parts(name, value))
            else:
                found.append(Option(name, self._value(field, value)))
        return found

    def _parts(self, name: str, value: message.Message) -> Options:
        """features.field_presence: fields of an option's message, each as an option."""
        return [
            Option(
                f"{name}.({field.full_name})" if field.is_extension else f"{name}.{field.name}",
                self._value(field, each),
            )
            for field, each in value.ListFields()
        ]

    def _value(self, field: FieldDescriptor, value: object) -> Value:
        self._budget.spend()
        if field.message_type is not None:
            return self._mapping(value)  # type: ignore[arg-type]
        if field.type == _STRING:
            return Text(str(value).encode())
        if field.type == _BYTES:
            assert isinstance(value, bytes)
            return Text(value)
        if field.type == _BOOL:
            return Word("true" if value else "false")
        if field.type == _ENUM:
            assert field.enum_type is not None and isinstance(value, int)
            named = field.enum_type.values_by_number.get(value)
            return Word(named.name if named is not None else str(value))
        return Word(str(value))

    def _mapping(self, it: message.Message) -> Mapping:
        entries: list[tuple[str, Value]] = []
        for field, value in it.ListFields():
            name = f"[{field.full_name}]" if field.is_extension else field.name
            if not field.is_repeated:
                entries.append((name, self._value(field, value)))
            elif field.message_type is not None and field.message_type.GetOptions().map_entry:
                entries.append((name, self._map_entries(field, value)))
            else:
                entries.append((name, Sequence(tuple(self._value(field, each) for each in value))))
        return Mapping(tuple(entries))

    def _map_entries(self, field: FieldDescriptor, value: dict[object, object]) -> Sequence:
        assert field.message_type is not None
        key, inner = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
        return Sequence(
            tuple(
                Mapping((("key", self._value(key, each)), ("value", self._value(inner, value[each]))))
                for each in sorted(value, key=str)
            )
        )


def json_name(name: str) -> str:
    """What protoc gives a field that says none: camelCase."""
    first, *others = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in others)


def _default(it: pb.FieldDescriptorProto) -> Value:
    text = it.default_value
    if it.type == _STRING:
        return Text(text.encode())
    if it.type == _BYTES:
        return Text(_c_unescaped(text))
    return Word(text)


def _c_unescaped(text: str) -> bytes:
    from barnabas.registry.schemas.protobuf.tokens import Tokens

    quoted = text.replace('"', '\\"') if '\\"' not in text else text
    return Tokens(f'"{quoted}"', Budget()).take_string()

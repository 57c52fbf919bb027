"""A tree becomes a FileDescriptorProto, equal to what protoc makes of the text (without the json_name of every field).

Custom options are kept where their extension is known from a reference or a known file, and left out elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from barnabas.registry.schemas.protobuf import known
from barnabas.registry.schemas.protobuf.descriptors.defaults import default_value
from barnabas.registry.schemas.protobuf.descriptors.options import OptionsReader
from barnabas.registry.schemas.protobuf.descriptors.pool import pool_of
from barnabas.registry.schemas.protobuf.scopes import Names, Scope
from barnabas.registry.schemas.protobuf.tree import (
    EDITIONS,
    FIELD_NUMBER_MAX,
    Enum,
    Extend,
    Field,
    File,
    Message,
    Oneof,
    Reserved,
    Service,
    Text,
    Word,
    option,
)

if TYPE_CHECKING:
    from google.protobuf import descriptor_pb2 as pb
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    Nested = RepeatedCompositeFieldContainer[pb.DescriptorProto]

_TYPES = {
    "double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5, "fixed64": 6, "fixed32": 7, "bool": 8, "string": 9,
    "bytes": 12, "uint32": 13, "sfixed32": 15, "sfixed64": 16, "sint32": 17, "sint64": 18,
}  # fmt: skip
_GROUP, _MESSAGE, _ENUM = 10, 11, 14
_LABELS = {None: 1, "optional": 1, "required": 2, "repeated": 3}
_MESSAGE_SET_MAX = 2_147_483_646
DEFAULT_PATH = "default"  # the name of a file that has none, as Confluent's registry gives it


def serialized(file: File, scope: Scope, others: dict[str, File]) -> bytes:
    """`scope` is that of the file's package."""
    pool = pool_with({**others, DEFAULT_PATH: file}) if file.custom_options else None
    return Builder(file, scope, DEFAULT_PATH, OptionsReader(pool)).file().SerializeToString()


def pool_with(files: Mapping[str, File]) -> DescriptorPool:
    """Of the known files and these. One pool serves all schemas that define no extension: making it takes 10 ms."""
    if any(_has_extensions(file) for file in files.values()):
        return _pool_for({**known.files(), **files})
    return _known_pool()


@cache
def _known_pool() -> DescriptorPool:
    return _pool_for(known.files())


def _has_extensions(file: File) -> bool:
    waiting: list[File | Message] = [file]
    while waiting:
        each = waiting.pop()
        if each.extends:
            return True
        waiting.extend(each.messages)
    return False


def _pool_for(files: Mapping[str, File]) -> DescriptorPool:
    names = Names()
    for file in files.values():
        names.add(file)

    def build(path: str, file: File) -> pb.FileDescriptorProto:
        return Builder(file, names.package(file.package), path, OptionsReader(None)).file()

    return pool_of(files.items(), build)


class Builder:
    def __init__(self, file: File, scope: Scope, path: str, options: OptionsReader) -> None:
        from google.protobuf import descriptor_pb2

        self._pb = descriptor_pb2
        self._source = file
        self._scope = scope
        self._path = path
        self._options = options

    def file(self) -> pb.FileDescriptorProto:
        source = self._source
        it = self._pb.FileDescriptorProto(name=self._path)
        if source.package:
            it.package = source.package
        if source.edition:
            it.syntax = "editions"
            it.edition = EDITIONS[source.edition]  # type: ignore[assignment]
        elif source.syntax == "proto3":
            it.syntax = "proto3"
        for each in source.imports:
            if each.kind == "option" and hasattr(it, "option_dependency"):
                it.option_dependency.append(each.path)
                continue
            if each.kind == "public":
                it.public_dependency.append(len(it.dependency))
            elif each.kind == "weak":
                it.weak_dependency.append(len(it.dependency))
            it.dependency.append(each.path)
        for definition in source.body:
            if isinstance(definition, Message):
                self._message(it.message_type.add(), definition, self._scope)
            elif isinstance(definition, Enum):
                self._enum(it.enum_type.add(), definition, self._scope)
            elif isinstance(definition, Service):
                self._service(it.service.add(), definition)
            else:
                self._extend(it, it.message_type, definition, self._scope)
        self._options.read(source.options, it.options, self._scope)
        return it

    def _message(self, it: pb.DescriptorProto, message: Message, around: Scope) -> None:
        scope = around.children[message.name]
        it.name = message.name
        optional: list[pb.FieldDescriptorProto] = []
        for each in message.body:
            if isinstance(each, Field):
                made = it.field.add()
                self._field(made, each, scope, it.nested_type)
                if each.label == "optional" and self._source.syntax == "proto3":
                    optional.append(made)
            elif isinstance(each, Oneof):
                self._oneof(it, each, scope)
            elif isinstance(each, Message):
                self._message(it.nested_type.add(), each, scope)
            elif isinstance(each, Enum):
                self._enum(it.enum_type.add(), each, scope)
            else:
                self._extend(it, it.nested_type, each, scope)
        self._add_synthetic_oneofs(it, optional)
        self._ranges(it, message, scope)
        self._options.read(message.options, it.options, scope)
        self._visibility(it, message.visibility)

    def _visibility(self, it: pb.DescriptorProto | pb.EnumDescriptorProto, visibility: str | None) -> None:
        if visibility is not None and hasattr(it, "visibility"):
            it.visibility = self._pb.SymbolVisibility.Value(f"VISIBILITY_{visibility.upper()}")

    def _oneof(self, it: pb.DescriptorProto, oneof: Oneof, scope: Scope) -> None:
        declared = it.oneof_decl.add(name=oneof.name)
        self._options.read(oneof.options, declared.options, scope)
        index = len(it.oneof_decl) - 1
        for each in oneof.fields:
            made = it.field.add()
            self._field(made, each, scope, it.nested_type)
            made.oneof_index = index

    def _add_synthetic_oneofs(self, it: pb.DescriptorProto, optional: list[pb.FieldDescriptorProto]) -> None:
        """protoc makes one for each optional field of proto3, behind those of the text."""
        if not optional:
            return
        taken = {each.name for each in (*it.field, *it.extension)} | {each.name for each in it.oneof_decl}
        taken |= {each.name for each in it.nested_type} | {each.name for each in it.enum_type}
        for field in optional:
            name = "_" + field.name if not field.name.startswith("_") else field.name
            while name in taken:
                name = "X" + name
            taken.add(name)
            it.oneof_decl.add(name=name)
            field.oneof_index = len(it.oneof_decl) - 1
            field.proto3_optional = True

    def _ranges(self, it: pb.DescriptorProto, message: Message, scope: Scope) -> None:
        message_set = option(message.options, "message_set_wire_format") == Word("true")
        for statement in message.reserved:
            for each in statement.ranges:
                if isinstance(each, str):
                    it.reserved_name.append(each)
                elif statement.extensions:
                    last = _MESSAGE_SET_MAX if message_set and each[1] == FIELD_NUMBER_MAX else each[1]
                    made = it.extension_range.add(start=each[0], end=last + 1)
                    self._options.read(statement.options, made.options, scope)
                else:
                    it.reserved_range.add(start=each[0], end=each[1] + 1)

    def _field(self, it: pb.FieldDescriptorProto, field: Field, scope: Scope, nested: Nested) -> None:
        it.name, it.number = field.name, field.number
        it.label = _LABELS[field.label]  # type: ignore[assignment]
        if field.map is not None:
            it.label = _LABELS["repeated"]  # type: ignore[assignment]
            it.type = _MESSAGE  # type: ignore[assignment]
            it.type_name = f".{scope.full_name}.{_entry_name(field.name)}"
            self._map_entry(nested.add(), field, scope)
        elif field.group is not None:
            it.type = _GROUP  # type: ignore[assignment]
            it.type_name = f".{scope.children[field.group.name].full_name}"
            self._message(nested.add(), field.group, scope)
        else:
            self._type(it, field.type, scope)
        for each in field.options:
            if each.name == "default":
                it.default_value = default_value(each.value, it.type)
            elif each.name == "json_name" and isinstance(each.value, Text):
                it.json_name = each.value.value.decode("utf-8", "replace")
        others = [each for each in field.options if each.name not in ("default", "json_name")]
        self._options.read(others, it.options, scope)

    def _type(self, it: pb.FieldDescriptorProto, type: str, scope: Scope) -> None:
        if type in _TYPES:
            it.type = _TYPES[type]  # type: ignore[assignment]
            return
        found = scope.resolve(type)
        if found is None:  # only within a reference: the type is then left open
            it.type_name = type
            return
        it.type = _ENUM if isinstance(found.definition, Enum) else _MESSAGE  # type: ignore[assignment]
        it.type_name = f".{found.full_name}"

    def _map_entry(self, it: pb.DescriptorProto, field: Field, scope: Scope) -> None:
        assert field.map is not None
        it.name = _entry_name(field.name)
        it.options.map_entry = True
        for number, (name, type) in enumerate(zip(("key", "value"), field.map, strict=True), 1):
            made = it.field.add(name=name, number=number, label=1)
            self._type(made, type, scope)

    def _extend(
        self, it: pb.FileDescriptorProto | pb.DescriptorProto, nested: Nested, extend: Extend, scope: Scope
    ) -> None:
        found = scope.resolve(extend.extendee)
        for each in extend.fields:
            made = it.extension.add(extendee=f".{found.full_name}" if found is not None else extend.extendee)
            self._field(made, each, scope, nested)
            if each.label == "optional" and self._source.syntax == "proto3":
                made.proto3_optional = True

    def _enum(self, it: pb.EnumDescriptorProto, enum: Enum, scope: Scope) -> None:
        it.name = enum.name
        for value in enum.values:
            made = it.value.add(name=value.name, number=value.number)
            self._options.read(value.options, made.options, scope)
        for statement in enum.reserved:
            self._enum_reserved(it, statement)
        self._options.read(enum.options, it.options, scope)
        self._visibility(it, enum.visibility)

    def _enum_reserved(self, it: pb.EnumDescriptorProto, statement: Reserved) -> None:
        for each in statement.ranges:
            if isinstance(each, str):
                it.reserved_name.append(each)
            else:
                it.reserved_range.add(start=each[0], end=each[1])

    def _service(self, it: pb.ServiceDescriptorProto, service: Service) -> None:
        it.name = service.name
        for method in service.methods:
            input, output = self._scope.resolve(method.input), self._scope.resolve(method.output)
            made = it.method.add(name=method.name)
            made.input_type = f".{input.full_name}" if input is not None else method.input
            made.output_type = f".{output.full_name}" if output is not None else method.output
            if method.input_streams:
                made.client_streaming = True
            if method.output_streams:
                made.server_streaming = True
            self._options.read(method.options, made.options, self._scope)
        self._options.read(service.options, it.options, self._scope)


def _entry_name(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_")) + "Entry"

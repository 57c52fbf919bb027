"""The tree as text: the forms that Confluent's registry stores and compares.

Canonical: comments and the order of kinds go (imports, options, messages, enums, extensions, services), the rest stays
as it was written. Normalized, besides: what has no order is sorted by number or name, types have their full names, maps
are written as maps.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from barnabas.model.limits import SCHEMA_MAX_BYTES
from barnabas.registry.schemas.parsed import InvalidSchema
from barnabas.registry.schemas.protobuf.scopes import Scope
from barnabas.registry.schemas.protobuf.tokens import integer
from barnabas.registry.schemas.protobuf.tree import (
    ENUM_NUMBER_MAX,
    FIELD_NUMBER_MAX,
    SCALARS,
    Enum,
    EnumValue,
    Extend,
    Field,
    File,
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
)

_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", "'": "\\'", '"': '\\"',
}  # fmt: skip
_ESCAPED = re.compile(r"[\x00-\x1f\x7f\\'\"\udc80-\udcff]")
_GROWTH_MAX = 4  # times SCHEMA_MAX_BYTES: full names and indents make a text longer, within reason


@dataclass(frozen=True, slots=True)
class Form:
    normalized: bool = False
    extensions: bool = True  # custom options, extension ranges and extensions are written


CANONICAL, NORMALIZED, WITHOUT_EXTENSIONS = Form(), Form(normalized=True), Form(extensions=False)


def write(file: File, scope: Scope, form: Form) -> str:
    """`scope` is that of the file's package: full names are found from there."""
    return _Writer(form).file(file, scope)


class _Writer:
    def __init__(self, form: Form) -> None:
        self._form = form
        self._lines: list[str] = []
        self._size = 0

    def _line(self, depth: int, text: str) -> None:
        self._lines.append("  " * depth + text)
        self._size += len(text) + 2 * depth + 1
        if self._size > _GROWTH_MAX * SCHEMA_MAX_BYTES:
            raise InvalidSchema("the schema is too long once its names are written in full")

    def _close(self, depth: int) -> None:
        if self._lines[-1].endswith("{"):
            self._lines[-1] += "}"
        else:
            self._line(depth, "}")

    def _gap(self, *sections: Collection[object]) -> None:
        """An empty line before a section that has something, unless it is the first one within braces."""
        if any(sections) and not (self._lines and self._lines[-1].endswith("{")):
            self._line(0, "")

    def file(self, file: File, scope: Scope) -> str:
        if file.edition:
            self._line(0, f'edition = "{file.edition}";')
        elif file.syntax and not (self._form.normalized and file.syntax == "proto2"):
            self._line(0, f'syntax = "{file.syntax}";')
        if file.package:
            self._line(0, f"package {file.package};")
        self._gap(file.imports)
        for kind in ("", "public", "weak", "option"):
            paths = [each.path for each in file.imports if each.kind == kind]
            for path in sorted(set(paths)) if self._form.normalized else paths:
                self._line(0, f"import {kind + ' ' if kind else ''}{_quoted(path.encode())};")
        options = self._kept(file.options)
        self._gap(options)
        self._option_lines(0, options)
        messages = [each for each in file.messages if not self._is_hidden(each)]
        self._gap(messages, file.enums)
        for message in messages:
            self._message(0, message, scope)
        for enum in file.enums:
            self._enum(0, enum)
        self._extends(0, file.extends, scope)
        self._gap(file.services)
        for service in file.services:
            self._service(service, scope)
        return "\n".join([*self._lines, ""]) if self._lines else ""

    def _is_hidden(self, message: Message) -> bool:
        return self._form.normalized and message.is_map_entry

    def _kept(self, options: Options) -> Options:
        if not self._form.extensions:
            options = [each for each in options if not each.is_extension]
        return sorted(options, key=lambda each: each.name) if self._form.normalized else options

    def _message(self, depth: int, message: Message, around: Scope) -> None:
        prefix = f"{message.visibility} " if message.visibility else ""
        self._line(depth, f"{prefix}message {message.name} {{")
        self._body(depth + 1, message, around.children[message.name])
        self._close(depth)

    def _body(self, depth: int, message: Message, scope: Scope) -> None:
        """Kinds one after the other, with an empty line between them."""
        normalized = self._form.normalized
        self._reserved(depth, [each for each in message.reserved if not each.extensions], FIELD_NUMBER_MAX)
        options = self._kept(message.options)
        self._gap(options)
        self._option_lines(depth, options)
        fields = [each for each in message.body if isinstance(each, Field)]
        plain = [each for each in fields if each.group is None]
        self._gap(plain)
        for field in sorted(plain, key=_number) if normalized else plain:
            self._field(depth, field, scope)
        oneofs = message.oneofs
        self._gap(oneofs)
        for oneof in sorted(oneofs, key=lambda each: min(map(_number, each.fields))) if normalized else oneofs:
            self._oneof(depth, oneof, scope)
        groups = [each for each in fields if each.group is not None]
        self._gap(groups)
        for field in sorted(groups, key=_number) if normalized else groups:
            self._field(depth, field, scope)
        if self._form.extensions:
            self._reserved(depth, [each for each in message.reserved if each.extensions], FIELD_NUMBER_MAX)
        self._extends(depth, message.extends, scope)
        messages = [each for each in message.messages if not self._is_hidden(each)]
        self._gap(messages, message.enums)
        for nested in messages:
            self._message(depth, nested, scope)
        for enum in message.enums:
            self._enum(depth, enum)

    def _reserved(self, depth: int, statements: list[Reserved], last: int) -> None:
        if not statements:
            return
        self._gap([None])
        if self._form.normalized:
            split = [Reserved([each], one.options, one.extensions) for one in statements for each in one.ranges]
            statements = sorted(split, key=_reserved_order)
        for statement in statements:
            ranges = ", ".join(_range(each, last) for each in statement.ranges)
            word = "extensions" if statement.extensions else "reserved"
            self._with_options(depth, f"{word} {ranges}", self._kept(statement.options))

    def _oneof(self, depth: int, oneof: Oneof, scope: Scope) -> None:
        self._line(depth, f"oneof {oneof.name} {{")
        options = self._kept(oneof.options)
        self._option_lines(depth + 1, options)
        self._gap(oneof.fields)
        for field in sorted(oneof.fields, key=_number) if self._form.normalized else oneof.fields:
            self._field(depth + 1, field, scope)
        self._line(depth, "}")

    def _field(self, depth: int, field: Field, scope: Scope) -> None:
        label, type = self._label_and_type(field, scope)
        start = f"{label} " if label else ""
        options = [each for each in field.options if each.name not in ("default", "json_name")]
        options += [each for each in field.options if each.name == "default"]
        options += [each for each in field.options if each.name == "json_name"]
        if field.group is None:
            self._with_options(depth, f"{start}{type} {field.name} = {field.number}", self._kept(options))
            return
        self._with_options(depth, f"{start}group {field.type} = {field.number}", self._kept(options), end=" {")
        self._body(depth + 1, field.group, scope.children[field.group.name])
        self._close(depth)

    def _label_and_type(self, field: Field, scope: Scope) -> tuple[str | None, str]:
        label, map = field.label, field.map
        if self._form.normalized and map is None and field.group is None and field.type not in SCALARS:
            found = scope.resolve(field.type)
            if found is not None and found.message is not None and found.message.is_map_entry:
                types = {each.name: each.type for each, _ in found.message.fields()}
                label, map, scope = None, (types.get("key", "string"), types.get("value", "string")), found
        if map is not None:
            return label, f"map<{map[0]}, {self._type(map[1], scope)}>"
        return label, self._type(field.type, scope)

    def _type(self, type: str, scope: Scope) -> str:
        if not self._form.normalized or type in SCALARS:
            return type
        found = scope.resolve(type)
        return type if found is None else f".{found.full_name}"

    def _extends(self, depth: int, extends: list[Extend], scope: Scope) -> None:
        if not extends or not self._form.extensions:
            return
        self._gap([None])
        if self._form.normalized:
            together: dict[str, list[Field]] = {}
            for extend in extends:
                together.setdefault(self._type(extend.extendee, scope), []).extend(extend.fields)
            extends = [Extend(name, sorted(fields, key=_number)) for name, fields in together.items()]
        for extend in extends:
            self._line(depth, f"extend {extend.extendee} {{")
            for field in extend.fields:
                self._field(depth + 1, field, scope)
            self._close(depth)

    def _enum(self, depth: int, enum: Enum) -> None:
        prefix = f"{enum.visibility} " if enum.visibility else ""
        self._line(depth, f"{prefix}enum {enum.name} {{")
        self._reserved(depth + 1, enum.reserved, ENUM_NUMBER_MAX)
        self._option_lines(depth + 1, self._kept(enum.options))
        values = enum.values
        for value in sorted(values, key=_value_order) if self._form.normalized else values:
            self._with_options(depth + 1, f"{value.name} = {value.number}", self._kept(value.options))
        self._line(depth, "}")

    def _service(self, service: Service, scope: Scope) -> None:
        self._line(0, f"service {service.name} {{")
        self._option_lines(1, self._kept(service.options))
        self._gap(service.methods)
        for method in service.methods:
            self._method(method, scope)
        self._close(0)

    def _method(self, method: Method, scope: Scope) -> None:
        input = ("stream " if method.input_streams else "") + self._type(method.input, scope)
        output = ("stream " if method.output_streams else "") + self._type(method.output, scope)
        start = f"rpc {method.name} ({input}) returns ({output})"
        options = self._kept(method.options)
        if not options:
            self._line(1, f"{start};")
            return
        self._line(1, f"{start} {{")
        self._option_lines(2, options)
        self._line(1, "};")

    def _option_lines(self, depth: int, options: Options) -> None:
        for option in options:
            self._option(depth, "option ", option, ";")

    def _with_options(self, depth: int, start: str, options: Options, end: str = ";") -> None:
        if not options:
            self._line(depth, start + end)
        elif len(options) == 1:
            self._option(depth, f"{start} [", options[0], f"]{end}")
        else:
            self._line(depth, f"{start} [")
            for index, option in enumerate(options):
                self._option(depth + 1, "", option, "," if index < len(options) - 1 else "")
            self._line(depth, f"]{end}")

    def _option(self, depth: int, start: str, option: Option, end: str) -> None:
        self._value(depth, f"{start}{option.name} = ", option.value, end)

    def _value(self, depth: int, start: str, value: Value, end: str) -> None:
        if self._form.normalized and isinstance(value, Sequence) and len(value.items) == 1:
            value = value.items[0]
        if isinstance(value, Mapping):
            self._line(depth, f"{start}{{")
            entries = sorted(value.entries) if self._form.normalized else list(value.entries)
            for index, (key, inner) in enumerate(entries):
                self._value(depth + 1, f"{key}: ", inner, "," if index < len(entries) - 1 else "")
            self._line(depth, f"}}{end}")
        elif isinstance(value, Sequence):
            self._line(depth, f"{start}[")
            for index, item in enumerate(value.items):
                self._value(depth + 1, "", item, "," if index < len(value.items) - 1 else "")
            self._line(depth, f"]{end}")
        elif isinstance(value, Text):
            self._line(depth, f"{start}{_quoted(value.value)}{end}")
        else:
            text = _number_text(value.text) if self._form.normalized else value.text
            self._line(depth, f"{start}{text}{end}")


def _number(field: Field) -> int:
    return field.number


def _value_order(value: EnumValue) -> tuple[int, str]:
    return value.number, value.name


def _reserved_order(statement: Reserved) -> tuple[int, str]:
    only = statement.ranges[0]
    return (ENUM_NUMBER_MAX + 1, only) if isinstance(only, str) else (only[0], "")


def _range(each: Range | str, last: int) -> str:
    if isinstance(each, str):
        return _quoted(each.encode())
    if each[0] == each[1]:
        return str(each[0])
    return f"{each[0]} to {'max' if each[1] == last else each[1]}"


def _number_text(text: str) -> str:
    """Hexadecimal, octal and long forms of a number are the same number."""
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    if not digits[:1].isdigit() and not digits.startswith("."):
        return text
    whole = integer(digits)
    if whole is not None:
        return f"{sign}{whole}"
    try:
        return f"{sign}{float(digits.rstrip('fF'))!r}"
    except ValueError:
        return text


def _quoted(value: bytes) -> str:
    text = value.decode("utf-8", "surrogateescape")
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    letter = found[0]
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    code = ord(letter)
    return f"\\{code - 0xDC00 if code > 0xFF else code:03o}"

"""The text of a .proto file becomes a tree: proto2, proto3 and editions, by recursive descent.

What protoc's grammar allows is read; words such as message or option are names wherever a name is expected. What a
name refers to, and whether numbers and names are used once, is looked at afterwards (scopes.py, checks.py).
"""

from __future__ import annotations

from barnabas.model.limits import PROTOBUF_NESTING_MAX
from barnabas.registry.schemas.protobuf.tokens import Tokens
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
    Message,
    Method,
    Oneof,
    Option,
    Options,
    Range,
    Reserved,
    Service,
)
from barnabas.registry.schemas.protobuf.values import bracketed_options, option_statement

_LABELS = ("optional", "required", "repeated")


def read_file(tokens: Tokens) -> File:
    file = File()
    _read_syntax(tokens, file)
    while tokens.kind != "end":
        if tokens.take_if(";"):
            continue
        word = tokens.text
        if tokens.kind != "name":
            tokens.unexpected("message, enum or another definition")
        if word == "package":
            if file.package:
                tokens.fail("a second package")
            tokens.take()
            file.package = tokens.take_path("the name of the package")
            if file.package.count(".") >= PROTOBUF_NESTING_MAX:
                tokens.fail(f"the package has more than {PROTOBUF_NESTING_MAX} parts")
            tokens.expect(";")
        elif word == "import":
            tokens.take()
            file.imports.append(_import(tokens))
        elif word == "option":
            tokens.take()
            file.options.append(option_statement(tokens))
        elif word == "service":
            tokens.take()
            file.body.append(_service(tokens))
        else:
            definition = _definition(tokens, 0)
            if definition is None:
                tokens.unexpected("syntax, package, import, option, message, enum, extend or service")
            file.body.append(definition)
    file.custom_options = tokens.custom_options
    return file


def _read_syntax(tokens: Tokens, file: File) -> None:
    while tokens.take_if(";"):
        pass
    if tokens.text not in ("syntax", "edition"):
        return
    word = tokens.take()
    tokens.expect("=")
    value = tokens.take_text(f"the {word} in quotes")
    if word == "edition":
        if value not in EDITIONS:
            tokens.fail(f"unknown edition {value[:40]!r}: {' or '.join(EDITIONS)}")
        file.edition = value
    elif value in ("proto2", "proto3"):
        file.syntax = value
    else:
        tokens.fail(f"unknown syntax {value[:40]!r}: proto2 or proto3")
    tokens.expect(";")


def _import(tokens: Tokens) -> Import:
    tokens.budget.spend()
    kind = tokens.take() if tokens.kind == "name" and tokens.text in ("public", "weak", "option") else ""
    path = tokens.take_text("the path of the imported file in quotes")
    tokens.expect(";")
    return Import(path, kind)


def _definition(tokens: Tokens, depth: int) -> Message | Enum | Extend | None:
    """A message, an enum or an extend; nothing is read where none of them stands here."""
    visibility = None
    if tokens.text in ("export", "local") and depth <= PROTOBUF_NESTING_MAX:
        visibility = tokens.take()
        if tokens.text not in ("message", "enum"):
            tokens.unexpected("message or enum")
    if tokens.take_if("message"):
        name = tokens.take_name("the name of the message")
        return _message(tokens, name, depth, visibility)
    if tokens.take_if("enum"):
        return _enum(tokens, visibility)
    if tokens.take_if("extend"):
        return _extend(tokens, depth)
    return None


def _message(tokens: Tokens, name: str, depth: int, visibility: str | None = None) -> Message:
    """From the opening brace on."""
    tokens.budget.spend()
    if depth > PROTOBUF_NESTING_MAX:
        tokens.fail(f"messages are nested more than {PROTOBUF_NESTING_MAX} deep")
    message = Message(name, visibility=visibility)
    tokens.expect("{")
    while not tokens.take_if("}"):
        if not tokens.take_if(";"):
            _read_member(tokens, message, depth)
    return message


def _read_member(tokens: Tokens, message: Message, depth: int) -> None:
    word = tokens.text
    if word == "option":
        tokens.take()
        message.options.append(option_statement(tokens))
    elif word == "oneof":
        tokens.take()
        message.body.append(_oneof(tokens, depth))
    elif word == "reserved":
        tokens.take()
        message.reserved.append(_reserved(tokens, 1, FIELD_NUMBER_MAX))
    elif word == "extensions":
        tokens.take()
        message.reserved.append(_extension_ranges(tokens))
    else:
        definition = _definition(tokens, depth + 1) if word in _DEFINING else None
        message.body.append(definition if definition is not None else _field(tokens, depth, labels=_LABELS))


_DEFINING = ("message", "enum", "extend", "export", "local")


def _field(tokens: Tokens, depth: int, labels: tuple[str, ...]) -> Field:
    tokens.budget.spend()
    label = tokens.take() if tokens.kind == "name" and tokens.text in labels else None
    if tokens.kind == "name" and tokens.text == "group":
        return _group(tokens, depth, label)
    type, map = _type(tokens)
    if map is not None and label is not None:
        tokens.fail("a map has no label")
    name = tokens.take_name("the name of the field")
    tokens.expect("=")
    number = tokens.take_integer("the number of the field", 1, FIELD_NUMBER_MAX)
    options = bracketed_options(tokens)
    tokens.expect(";")
    return Field(label, type, name, number, options, map)


def _type(tokens: Tokens) -> tuple[str, tuple[str, str] | None]:
    type = tokens.take_path("the type of a field")
    if type != "map" or not tokens.take_if("<"):
        return type, None
    key = tokens.take_path("the type of the map's keys")
    tokens.expect(",")
    value = tokens.take_path("the type of the map's values")
    tokens.expect(">")
    return "", (key, value)


def _group(tokens: Tokens, depth: int, label: str | None) -> Field:
    tokens.take()
    name = tokens.take_name("the name of the group")
    if not name[0].isupper():
        tokens.fail("the name of a group starts with a capital letter")
    tokens.expect("=")
    number = tokens.take_integer("the number of the group", 1, FIELD_NUMBER_MAX)
    options = bracketed_options(tokens)
    return Field(label, name, name.lower(), number, options, group=_message(tokens, name, depth + 1))


def _oneof(tokens: Tokens, depth: int) -> Oneof:
    tokens.budget.spend()
    oneof = Oneof(tokens.take_name("the name of the oneof"))
    tokens.expect("{")
    while not tokens.take_if("}"):
        if tokens.take_if(";"):
            continue
        if tokens.take_if("option"):
            oneof.options.append(option_statement(tokens))
            continue
        if tokens.text in _LABELS:
            tokens.fail("a field of a oneof has no label")
        field = _field(tokens, depth, labels=())
        if field.map is not None:
            tokens.fail("a map cannot be in a oneof")
        oneof.fields.append(field)
    if not oneof.fields:
        tokens.fail(f"oneof {oneof.name} has no fields")
    return oneof


def _extend(tokens: Tokens, depth: int) -> Extend:
    tokens.budget.spend()
    extend = Extend(tokens.take_path("the message to extend"))
    tokens.expect("{")
    while not tokens.take_if("}"):
        if not tokens.take_if(";"):
            extend.fields.append(_field(tokens, depth, labels=_LABELS))
    return extend


def _enum(tokens: Tokens, visibility: str | None) -> Enum:
    tokens.budget.spend()
    enum = Enum(tokens.take_name("the name of the enum"), visibility=visibility)
    tokens.expect("{")
    while not tokens.take_if("}"):
        if tokens.take_if(";"):
            continue
        name = tokens.take_name("the name of a value")
        if name == "option" and not tokens.at("="):
            enum.options.append(option_statement(tokens))
        elif name == "reserved" and not tokens.at("="):
            enum.reserved.append(_reserved(tokens, -ENUM_NUMBER_MAX - 1, ENUM_NUMBER_MAX))
        else:
            tokens.budget.spend()
            tokens.expect("=")
            number = tokens.take_integer("the number of the value", -ENUM_NUMBER_MAX - 1, ENUM_NUMBER_MAX)
            enum.values.append(EnumValue(name, number, bracketed_options(tokens)))
            tokens.expect(";")
    return enum


def _reserved(tokens: Tokens, low: int, high: int) -> Reserved:
    reserved = Reserved([])
    while True:
        tokens.budget.spend()
        if tokens.kind == "string":
            reserved.ranges.append(tokens.take_text("a reserved name"))
        elif tokens.kind == "name":
            reserved.ranges.append(tokens.take_name())
        else:
            reserved.ranges.append(_range(tokens, low, high))
        if not tokens.take_if(","):
            break
    tokens.expect(";")
    return reserved


def _extension_ranges(tokens: Tokens) -> Reserved:
    extensions = Reserved([_range(tokens, 1, FIELD_NUMBER_MAX)], extensions=True)
    while tokens.take_if(","):
        tokens.budget.spend()
        extensions.ranges.append(_range(tokens, 1, FIELD_NUMBER_MAX))
    extensions.options = bracketed_options(tokens)
    tokens.expect(";")
    return extensions


def _range(tokens: Tokens, low: int, high: int) -> Range:
    first = last = tokens.take_integer("a number", low, high)
    if tokens.take_if("to"):
        last = high if tokens.take_if("max") else tokens.take_integer("a number", low, high)
    if last < first:
        tokens.fail(f"the range {first} to {last} ends before it starts")
    return first, last


def _service(tokens: Tokens) -> Service:
    tokens.budget.spend()
    service = Service(tokens.take_name("the name of the service"))
    tokens.expect("{")
    while not tokens.take_if("}"):
        if tokens.take_if(";"):
            continue
        if tokens.take_if("option"):
            service.options.append(option_statement(tokens))
        elif tokens.take_if("rpc"):
            service.methods.append(_method(tokens))
        else:
            tokens.unexpected("rpc or option")
    return service


def _method(tokens: Tokens) -> Method:
    tokens.budget.spend()
    name = tokens.take_name("the name of the method")
    input, input_streams = _parameter(tokens)
    tokens.expect("returns")
    output, output_streams = _parameter(tokens)
    options: list[Option] = []
    if tokens.take_if("{"):
        options = _method_options(tokens)
    else:
        tokens.expect(";")
    return Method(name, input, output, input_streams, output_streams, options)


def _parameter(tokens: Tokens) -> tuple[str, bool]:
    tokens.expect("(")
    streams = tokens.take_if("stream")
    type = tokens.take_path("the type of a message")
    tokens.expect(")")
    return type, streams


def _method_options(tokens: Tokens) -> Options:
    options: Options = []
    while not tokens.take_if("}"):
        if tokens.take_if(";"):
            continue
        tokens.expect("option")
        options.append(option_statement(tokens))
    return options

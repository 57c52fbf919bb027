"""Options: their names and their values, which may be a whole message in Protobuf's text format."""

from __future__ import annotations

from barnabas.model.limits import PROTOBUF_NESTING_MAX
from barnabas.registry.schemas.protobuf.tokens import Tokens
from barnabas.registry.schemas.protobuf.tree import Mapping, Option, Options, Sequence, Text, Value, Word

_CLOSING = {"{": "}", "<": ">"}


def option_statement(tokens: Tokens) -> Option:
    """`option name = value;`, from behind the word option."""
    option = _option(tokens)
    tokens.expect(";")
    return option


def bracketed_options(tokens: Tokens) -> Options:
    """`[name = value, ...]`, or nothing."""
    options: Options = []
    if tokens.take_if("["):
        options.append(_option(tokens))
        while tokens.take_if(","):
            options.append(_option(tokens))
        tokens.expect("]")
    return options


def _option(tokens: Tokens) -> Option:
    tokens.budget.spend()
    parts = [_name_part(tokens)]
    while tokens.take_if("."):
        parts.append(_name_part(tokens))
        if len(parts) > PROTOBUF_NESTING_MAX:
            tokens.fail(f"the name of an option has more than {PROTOBUF_NESTING_MAX} parts")
    tokens.expect("=")
    return Option(".".join(parts), _value(tokens, 0))


def _name_part(tokens: Tokens) -> str:
    if not tokens.take_if("("):
        return tokens.take_name("the name of an option")
    tokens.custom_options = True
    path = tokens.take_path("the name of an extension")
    tokens.expect(")")
    return f"({path})"


def _value(tokens: Tokens, depth: int) -> Value:
    tokens.budget.spend()
    if depth > PROTOBUF_NESTING_MAX:
        tokens.fail(f"values of an option are nested more than {PROTOBUF_NESTING_MAX} deep")
    if tokens.kind == "string":
        return Text(tokens.take_string())
    if tokens.kind in ("name", "number"):
        return Word(tokens.take())
    if tokens.take_if("-"):
        if tokens.kind not in ("name", "number"):
            tokens.unexpected("a number")
        return Word("-" + tokens.take())
    if tokens.text in _CLOSING:
        return _mapping(tokens, _CLOSING[tokens.take()], depth)
    if not tokens.take_if("["):
        tokens.unexpected("the value of an option")
    return _sequence(tokens, depth)


def _sequence(tokens: Tokens, depth: int) -> Sequence:
    items: list[Value] = []
    while not tokens.take_if("]"):
        if items:
            tokens.expect(",")
        items.append(_value(tokens, depth + 1))
    return Sequence(tuple(items))


def _mapping(tokens: Tokens, closing: str, depth: int) -> Mapping:
    entries: dict[str, list[Value]] = {}
    while not tokens.take_if(closing):
        key = _key(tokens)
        if not tokens.take_if(":") and tokens.text not in ("{", "<", "["):
            tokens.unexpected("':'")
        entries.setdefault(key, []).append(_value(tokens, depth + 1))
        if not tokens.take_if(","):
            tokens.take_if(";")
    return Mapping(tuple((key, _joined(values)) for key, values in entries.items()))


def _joined(values: list[Value]) -> Value:
    """A key that stands there several times means the same as one with a list."""
    if len(values) == 1:
        return values[0]
    return Sequence(tuple(item for each in values for item in (each.items if isinstance(each, Sequence) else (each,))))


def _key(tokens: Tokens) -> str:
    if tokens.take_if("["):
        path = tokens.take_path("the name of an extension")
        while tokens.take_if("/"):  # the type of an Any: [type.googleapis.com/name]
            path += "/" + tokens.take_path("the name of a type")
        tokens.expect("]")
        return f"[{path}]"
    return tokens.take_name("the name of a field")

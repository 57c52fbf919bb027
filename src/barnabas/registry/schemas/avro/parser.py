"""Reads Avro's schemas: the rules of its specification 1.12, as Avro's own parser in Java applies them.

What that parser is lenient about, this one is too: an attribute that it does not know is kept; a logical type that does
not fit its type is such an attribute; `doc` that is no text is not there; comments are white space. A type may be
defined twice if both definitions are the same, as the registry's own texts of schemas with references have it. A name
has to be defined before it is used, as the specification says; Avro 1.12 in Java finds later definitions, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model import limits
from barnabas.model.json_values import Json, JsonObject
from barnabas.registry.schemas.avro.defaults import DefaultCheck, stated_default
from barnabas.registry.schemas.avro.types import (
    PRIMITIVES,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Name,
    Named,
    Primitive,
    Record,
    Type,
    Union,
)
from barnabas.registry.schemas.avro.writer import definition
from barnabas.registry.schemas.json_text import TextReader, written
from barnabas.registry.schemas.parsed import InvalidSchema, ReferencedSchema

_TYPE_ATTRIBUTES = frozenset(
    ("doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases")
)
_FIELD_ATTRIBUTES = frozenset(("default", "doc", "name", "order", "type", "aliases"))
_ORDERS = ("ascending", "descending", "ignore")
_SIZE_MAX = 2**31 - 1


def parse_types(text: str, references: Sequence[ReferencedSchema], stored: bool) -> tuple[Type, tuple[str, ...]]:
    """The type of the text, and the full names of the types that the references' texts are. `stored`: the schema is in
    the registry already, so only what cannot be read at all is an error; Avro did not always check defaults and
    namespaces."""
    if len(references) > limits.SCHEMA_REFERENCES_MAX:
        raise InvalidSchema(f"more than {limits.SCHEMA_REFERENCES_MAX:,} references")
    reader, parser = TextReader(), _Parser(stored)
    known = []
    for each in references:
        value = reader.read(each.text, each.name, comments=True)
        try:
            type_ = parser.type(value, "")
        except InvalidSchema as error:
            raise InvalidSchema(f"reference {each.name!r}: {error}") from None
        if isinstance(type_, Record | Enum | Fixed):
            known.append(type_.name.full)
    return parser.type(reader.read(text, comments=True), ""), tuple(known)


class _Parser:
    def __init__(self, stored: bool) -> None:
        self._stored = stored
        self._named: dict[str, Named] = {}
        self._defaults = DefaultCheck()

    def type(self, value: Json, space: str) -> Type:
        if isinstance(value, str):
            return self._by_name(value, space)
        if isinstance(value, list):
            return self._union(value, space)
        if not isinstance(value, dict):
            raise InvalidSchema(f"{_shown(value)} is no type: a name, an object or a list of types is one")
        kind = value.get("type")
        if not isinstance(kind, str):
            raise InvalidSchema(f"no type in {_shown(value)}")
        if kind in PRIMITIVES:
            return Primitive(kind, _others(value, _TYPE_ATTRIBUTES))
        match kind:
            case "record" | "error":
                return self._record(value, space)
            case "enum":
                return self._defined(self._enum(value, space))
            case "fixed":
                return self._defined(self._fixed(value, space))
            case "array":
                if "items" not in value:
                    raise InvalidSchema(f"array without items: {_shown(value)}")
                inner = self.type(value["items"], space)
                return Array(inner, _others(value, _TYPE_ATTRIBUTES), _above(inner.height))
            case "map":
                if "values" not in value:
                    raise InvalidSchema(f"map without values: {_shown(value)}")
                inner = self.type(value["values"], space)
                return Map(inner, _others(value, _TYPE_ATTRIBUTES), _above(inner.height))
        return self._by_name(kind, space)

    def _by_name(self, name: str, space: str) -> Type:
        if name in PRIMITIVES:
            return Primitive(name)
        if "." in name:
            found = self._named.get(name.removeprefix("."))
        else:
            found = (self._named.get(f"{space}.{name}") if space else None) or self._named.get(name)
        if found is None:
            raise InvalidSchema(
                f"type {name[:200]!r} is not defined: define it before it is used, or name it in the references"
            )
        return found

    def _union(self, value: list[Json], space: str) -> Union:
        if any(isinstance(each, list) for each in value):
            raise InvalidSchema(f"a union directly in a union: {_shown(value)}")
        if (twice := _twice([each for each in value if isinstance(each, str)])) is not None:
            raise InvalidSchema(f"{twice} is twice in a union")  # before all of them are looked up
        branches = tuple([self.type(each, space) for each in value])
        seen: set[str] = set()
        for each in branches:
            label = each.name.full if isinstance(each, Record | Enum | Fixed) else each.kind
            if label in seen:
                raise InvalidSchema(f"{label} is twice in a union")
            seen.add(label)
        return Union(branches, _above(max((each.height for each in branches), default=0)))

    def _record(self, value: JsonObject, space: str) -> Type:
        name = self._name(value, space)
        fields = value.get("fields")
        if not isinstance(fields, list):
            raise InvalidSchema(f"record {name.full} has no list of fields")
        record = Record(name, _text(value, "doc"), is_error=value["type"] == "error")
        earlier = self._named.setdefault(name.full, record)
        if earlier is not record and not (isinstance(earlier, Record) and earlier.complete):
            raise InvalidSchema(f"{name.full} is defined twice")
        for each in fields:
            field = self._field(each, name)
            if field.name in record.fields:
                raise InvalidSchema(f"record {name.full} has field {field.name} twice")
            record.fields[field.name] = field
            record.height = max(record.height, _above(field.type.height))
        record.complete = True
        record.attributes = _others(value, _TYPE_ATTRIBUTES)
        record.aliases = self._aliases(value, name)
        return self._defined(record)

    def _field(self, value: Json, record: Name) -> Field:
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            raise InvalidSchema(f"a field of record {record.full} has no name: {_shown(value)}")
        name = value["name"]
        self._check_name(name, f"field of {record.full}")
        if "type" not in value:
            raise InvalidSchema(f"field {name} of record {record.full} has no type")
        type_ = self.type(value["type"], record.space)
        order = value.get("order", "ascending")
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            raise InvalidSchema(f"order of field {name} of record {record.full} is none of {', '.join(_ORDERS)}")
        has_default, default = "default" in value, value.get("default")
        if has_default:
            default = stated_default(type_, default, name)
            if not self._stored and not self._defaults.fits(type_, default):
                raise InvalidSchema(
                    f"default of field {name} of record {record.full} is no {_label(type_)}: {_shown(default)}"
                )
        aliases = _alias_texts(value, f"field {name} of record {record.full}")
        return Field(
            name,
            type_,
            _text(value, "doc"),
            aliases,
            order.lower(),
            default,
            has_default,
            _others(value, _FIELD_ATTRIBUTES),
        )

    def _enum(self, value: JsonObject, space: str) -> Enum:
        name, symbols = self._name(value, space), value.get("symbols")
        if not isinstance(symbols, list):
            raise InvalidSchema(f"enum {name.full} has no list of symbols")
        for each in symbols:
            self._check_name(each, f"symbol of enum {name.full}")
        if (twice := _twice(symbols)) is not None:
            raise InvalidSchema(f"enum {name.full} has symbol {twice} twice")
        default = _text(value, "default")
        if default is not None and default not in symbols:
            raise InvalidSchema(f"default {_shown(default)} of enum {name.full} is none of its symbols")
        attributes = _others(value, _TYPE_ATTRIBUTES | {"default"})
        return Enum(name, _text(value, "doc"), self._aliases(value, name), tuple(symbols), default, attributes)

    def _fixed(self, value: JsonObject, space: str) -> Fixed:
        name, size = self._name(value, space), value.get("size")
        if type(size) is not int or not 0 <= size <= _SIZE_MAX:
            raise InvalidSchema(f"size of fixed {name.full} is no number of bytes: {_shown(size)}")
        attributes = _others(value, _TYPE_ATTRIBUTES)
        return Fixed(name, _text(value, "doc"), self._aliases(value, name), size, attributes)

    def _defined(self, type_: Named) -> Named:
        """The type by its name: the earlier one where this is a second definition that says the same."""
        earlier = self._named.setdefault(type_.name.full, type_)
        if earlier is not type_ and (earlier.kind != type_.kind or definition(earlier) != definition(type_)):
            raise InvalidSchema(f"{type_.name.full} is defined twice, and not in the same way")
        return earlier

    def _name(self, value: JsonObject, space: str) -> Name:
        name, own = _text(value, "name"), _text(value, "namespace")
        if name is None:
            raise InvalidSchema(f"no name in {_shown(value)}")
        return self._full_name(name, space if own is None else own)

    def _full_name(self, name: str, space: str) -> Name:
        if "." in name:
            space, _, name = name.rpartition(".")
        self._check_name(name, "name")
        if space and not self._stored:
            for part in space.split("."):
                self._check_name(part, f"part of namespace {space[:200]}")
        if not space and name in PRIMITIVES:
            raise InvalidSchema(f"a type cannot be called {name}, as a primitive is")
        return Name(name, space)

    def _aliases(self, value: JsonObject, name: Name) -> tuple[Name, ...]:
        result: dict[str, Name] = {}
        for each in _alias_texts(value, name.full):
            alias = self._full_name(each, name.space)
            result.setdefault(alias.full, alias)
        return tuple(result.values())

    @staticmethod
    def _check_name(name: Json, what: str) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidSchema(f"{what}: {_shown(name)} is no name")
        if not (name[0].isalpha() or name[0] == "_"):
            raise InvalidSchema(f"{what}: {_shown(name)} does not begin with a letter or _")
        if not (name.isascii() and name.replace("_", "a").isalnum()):
            for character in name:
                if not (character.isalpha() or character.isdecimal() or character == "_"):
                    raise InvalidSchema(f"{what}: {_shown(name)} has characters that are no letter, digit or _")


def _above(height: int) -> int:
    if height >= limits.SCHEMA_TYPE_NESTING_MAX:
        raise InvalidSchema(f"types nested deeper than {limits.SCHEMA_TYPE_NESTING_MAX}")
    return height + 1


def _twice(names: Sequence[str]) -> str | None:
    """A name that is there twice, if one is."""
    seen: set[str] = set()
    for each in names:
        if each in seen:
            return each[:200]
        seen.add(each)
    return None


def _others(value: JsonObject, known: frozenset[str]) -> JsonObject:
    return {key: each for key, each in value.items() if key not in known}


def _text(value: JsonObject, key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) else None


def _alias_texts(value: JsonObject, whose: str) -> tuple[str, ...]:
    aliases = value.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(each, str) for each in aliases):
        raise InvalidSchema(f"aliases of {whose} are no list of names")
    return tuple(dict.fromkeys(aliases))


def _label(type_: Type) -> str:
    if isinstance(type_, Union):
        return f"value of the union ({', '.join(_label(each) for each in type_.branches[:10])})"
    return f"{type_.kind} {type_.name.full}" if isinstance(type_, Record | Enum | Fixed) else type_.kind


def _shown(value: Json) -> str:
    """A value in an error: one line, not long."""
    if isinstance(value, dict | list) and len(value) > 20:
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = written(value)
    return text if len(text) <= 200 else text[:200] + "..."

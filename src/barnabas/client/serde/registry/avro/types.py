"""Avro from type hints: the schema of a class, and the way of its objects to what fastavro writes and back.

    bool int float str bytes None   boolean, long, double, string, bytes, null
    X | None, X | Y                 a union; null comes first, unless the default is something else
    list[X], dict[str, X]           array, map; sets and tuples (tuple[X, ...]) are arrays
    an Enum                         enum, by its values where these can be symbols, else by its names
    datetime date time              timestamp-micros, date, time-micros
    Decimal                         decimal(38, 9); Annotated[Decimal, {...}] says another one
    UUID                            a string of logical type uuid
    a dataclass, model or struct    a record
    Annotated[X, {"type": ...}]     what stands there, as in Annotated[int, {"type": "int"}]

A field's default is the schema's default, so that a field with one can be added and removed later.
"""

from __future__ import annotations

import enum
import re
import types
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from operator import attrgetter
from typing import Annotated, Literal, Union, get_args, get_origin
from uuid import UUID

from barnabas.client.errors import BadSetting
from barnabas.client.serde.registry.avro.defaults import default_of
from barnabas.client.serde.registry.models import NO_DEFAULT, Field, fields_of, kind_of
from barnabas.client.serde.serializers import Value

Convert = Callable[[Value], Value]
SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 9}
_SIMPLE: dict[object, tuple[Value, tuple[type, ...]]] = {
    bool: ("boolean", (bool,)),
    int: ("long", (int,)),
    float: ("double", (float, int)),
    str: ("string", (str,)),
    bytes: ("bytes", (bytes,)),
    type(None): ("null", (type(None),)),
    None: ("null", (type(None),)),
    datetime: ({"type": "long", "logicalType": "timestamp-micros"}, (datetime,)),
    date: ({"type": "int", "logicalType": "date"}, (date,)),
    time: ({"type": "long", "logicalType": "time-micros"}, (time,)),
    Decimal: (DECIMAL, (Decimal,)),
    UUID: ({"type": "string", "logicalType": "uuid"}, (UUID,)),
}
_ARRAYS = (list, set, frozenset, tuple, Sequence, MutableSequence, AbstractSet)
_MAPS = (dict, Mapping, MutableMapping)


@dataclass(slots=True)
class Mapped:
    """None for a function: the value is what fastavro takes or gives."""

    schema: Value
    takes: tuple[type, ...]  # what it is in Python
    gives: type  # what fastavro makes of it, before `read`
    write: Convert | None = None
    read: Convert | None = None


class TypeMapper:
    """Of one class and all that it names: a name means one type."""

    def __init__(self, namespace: str | None = None) -> None:
        self._namespace = namespace
        self._known: dict[type, Mapped] = {}
        self._names: dict[str, type] = {}

    def of(self, hint: Value, default: object = NO_DEFAULT) -> Mapped:
        origin: Value = get_origin(hint)
        arguments = get_args(hint)
        if origin is Annotated:
            said = next((each for each in arguments[1:] if isinstance(each, dict)), None)
            inner = self.of(arguments[0], default)
            if said is not None:
                return Mapped(said, inner.takes, inner.gives)
            return self._sized(inner, arguments[1:])
        if origin in (Union, types.UnionType):
            return self._union(arguments, default)
        if origin is Literal:
            kinds = {type(each) for each in arguments}
            return self.of(kinds.pop()) if len(kinds) == 1 else self._union(tuple(kinds), default)
        if origin in _ARRAYS or hint in _ARRAYS:
            return self._array(hint, origin or hint, arguments)
        if origin in _MAPS or hint in _MAPS:
            return self._map(hint, arguments)
        if hasattr(hint, "__supertype__"):  # a NewType
            return self.of(hint.__supertype__, default)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return self._enum(hint)
        if kind_of(hint) is not None:
            return self._record(hint)
        try:
            schema, takes = _SIMPLE[hint]
        except (KeyError, TypeError):
            name = getattr(hint, "__name__", str(hint))
            raise BadSetting(f"there is no Avro type for {name}: give the schema itself, or Annotated[...]") from None
        return Mapped(schema, takes, takes[0])

    def _sized(self, inner: Mapped, metadata: tuple[object, ...]) -> Mapped:
        """A Decimal whose digits pydantic was told."""
        if inner.schema == DECIMAL:
            digits = next((getattr(each, "max_digits", None) for each in metadata if hasattr(each, "max_digits")), None)
            places = next(
                (getattr(each, "decimal_places", 0) for each in metadata if hasattr(each, "decimal_places")), 0
            )
            if digits or places:
                inner.schema = {**DECIMAL, "precision": digits or 38, "scale": places or 0}
        return inner

    # --- containers --------------------------------------------------------------------------------------------------

    def _array(self, hint: Value, kind: type, arguments: tuple[Value, ...]) -> Mapped:
        items = [each for each in arguments if each is not Ellipsis]
        if len(items) != 1 or (kind is tuple and Ellipsis not in arguments):
            raise BadSetting(f"an array of Avro has items of one type, as list[str] has: not {hint}")
        inner = self.of(items[0])
        made: Value = kind if kind in (list, set, frozenset, tuple) else frozenset if kind is AbstractSet else list
        each_write, each_read = inner.write, inner.read
        write: Convert | None = None if made is list else list
        read: Convert | None = None if made is list else made
        if each_write is not None:
            to = each_write
            write = lambda values: [to(value) for value in values]  # noqa: E731 a name of its own says no more
        if each_read is not None:
            back = each_read
            read = lambda values: made([back(value) for value in values])  # noqa: E731
        takes = (made,) if made is not list else (list, tuple)
        return Mapped({"type": "array", "items": inner.schema}, takes, list, write, read)

    def _map(self, hint: Value, arguments: tuple[Value, ...]) -> Mapped:
        if len(arguments) != 2 or arguments[0] is not str:
            raise BadSetting(f"the keys of a map of Avro are str, as in dict[str, int]: not {hint}")
        inner = self.of(arguments[1])
        each_write, each_read = inner.write, inner.read
        write = read = None
        if each_write is not None:
            to = each_write
            write = lambda table: {key: to(value) for key, value in table.items()}  # noqa: E731
        if each_read is not None:
            back = each_read
            read = lambda table: {key: back(value) for key, value in table.items()}  # noqa: E731
        return Mapped({"type": "map", "values": inner.schema}, (dict,), dict, write, read)

    def _union(self, hints: tuple[Value, ...], default: object) -> Mapped:
        branches = [self.of(each) for each in hints]
        null = type(None)
        branches.sort(key=lambda each: each.gives is not null)
        if default is not NO_DEFAULT:  # a default is of the first branch, as Avro has it
            branches.sort(key=lambda each: not isinstance(default, each.takes))
        converted = [each for each in branches if each.write is not None or each.read is not None]
        for each in converted:
            if sum(other.gives is each.gives for other in branches) > 1:
                raise BadSetting(f"a union of {' | '.join(map(_name, hints))} cannot be told apart when it is read")
        write, read = _choosing(branches, converted)
        takes = tuple(kind for each in branches for kind in each.takes)
        return Mapped([each.schema for each in branches], takes, object, write, read)

    # --- names -------------------------------------------------------------------------------------------------------

    def _enum(self, hint: type[enum.Enum]) -> Mapped:
        known = self._known.get(hint)
        if known is not None:
            return known
        values = [each.value for each in hint]
        by_value = all(isinstance(each, str) and SYMBOL.fullmatch(each) for each in values)
        symbols = values if by_value else [each.name for each in hint]
        back: Convert = hint if by_value else hint.__getitem__
        write: Convert = attrgetter("value") if by_value else attrgetter("name")
        schema = {"type": "enum", "name": self._claim(hint), "symbols": symbols}
        self._known[hint] = Mapped(self._full(hint), (hint,), str, write, back)
        return Mapped(schema, (hint,), str, write, back)

    def _record(self, hint: type[Value]) -> Mapped:
        known = self._known.get(hint)
        if known is not None:
            return known
        is_outermost = not self._names
        name = self._claim(hint)
        made = Mapped({}, (hint,), dict)
        # A type that names itself is read and written by what is not made yet.
        self._known[hint] = Mapped(
            self._full(hint),
            (hint,),
            dict,
            lambda value: _must(made.write)(value),
            lambda found: _must(made.read)(found),
        )
        fields = fields_of(hint)
        parts = [self._field(hint, each) for each in fields]
        made.schema = {"type": "record", "name": name}
        if self._namespace and is_outermost:
            made.schema["namespace"] = self._namespace
        made.schema["fields"] = [described for described, _ in parts]
        mapped = [each for _, each in parts]
        made.write = _record_writer(fields, mapped)
        made.read = _record_reader(hint, fields, mapped)
        return made

    def _field(self, owner: type, field: Field) -> tuple[dict[str, Value], Mapped]:
        if not SYMBOL.fullmatch(field.written):
            raise BadSetting(f"{owner.__name__}.{field.written} cannot be the name of a field in Avro")
        try:
            found = self._sized(self.of(field.type, field.default), field.metadata)
        except BadSetting as error:
            raise BadSetting(f"{owner.__name__}.{field.name}: {error}") from None
        described: dict[str, Value] = {"name": field.written, "type": found.schema}
        if field.default is not NO_DEFAULT:
            value = found.write(field.default) if found.write is not None else field.default
            described["default"] = default_of(found.schema, value, f"{owner.__name__}.{field.name}")
        return described, found

    def _claim(self, hint: type) -> str:
        name = re.sub(r"\W+", "_", hint.__name__).strip("_")
        if self._names.setdefault(name, hint) is not hint:
            raise BadSetting(f"two types are named {name}, and a name of Avro means one")
        return name

    def _full(self, hint: type) -> str:
        name = self._claim(hint)
        return f"{self._namespace}.{name}" if self._namespace else name


def _record_writer(fields: list[Field], mapped: list[Mapped]) -> Convert:
    names = [each.written for each in fields]
    if not fields:
        return lambda _: {}
    take = attrgetter(*[each.name for each in fields])
    if len(fields) == 1:
        only = mapped[0].write
        return lambda value: {names[0]: take(value) if only is None else only(take(value))}
    if all(each.write is None for each in mapped):
        return lambda value: dict(zip(names, take(value), strict=True))
    ways = [each.write for each in mapped]
    return lambda value: {
        name: each if way is None else way(each) for name, each, way in zip(names, take(value), ways, strict=True)
    }


def _record_reader(model: type[Value], fields: list[Field], mapped: list[Mapped]) -> Convert:
    ways = [(each.written, way.read) for each, way in zip(fields, mapped, strict=True) if way.read is not None]
    renamed = {each.written: each.name for each in fields if each.written != each.name}

    def read(found: dict[str, Value]) -> Value:
        for name, way in ways:
            found[name] = _must(way)(found[name])
        if validate is not None:
            return validate(found)
        if renamed:
            found = {renamed.get(name, name): value for name, value in found.items()}
        return model(**found)

    validate: Convert | None = model.model_validate if kind_of(model) == "pydantic" else None
    return read


def _choosing(branches: list[Mapped], converted: list[Mapped]) -> tuple[Convert | None, Convert | None]:
    """Of a union: the branch is chosen by the type, in both directions. X | None is most of them."""
    if not converted:
        return None, None
    if len(converted) == 1 and len(branches) == 2 and any(each.gives is type(None) for each in branches):
        to, back = converted[0].write, converted[0].read
        return (
            lambda value: value if value is None or to is None else to(value),
            lambda value: value if value is None or back is None else back(value),
        )
    writes = [(each.takes, each.write) for each in converted if each.write is not None]
    reads = [(each.gives, each.read) for each in converted if each.read is not None]

    def write(value: Value) -> Value:
        return next((way(value) for takes, way in writes if isinstance(value, takes)), value)

    def read(value: Value) -> Value:
        return next((way(value) for gives, way in reads if isinstance(value, gives)), value)

    return write, read


def _must(way: Convert | None) -> Convert:
    assert way is not None
    return way


def _name(hint: Value) -> str:
    return str(getattr(hint, "__name__", hint))

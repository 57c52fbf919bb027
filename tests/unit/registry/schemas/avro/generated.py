"""Avro schemas, changes of them, and data for them, by chance."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from tests.unit.registry.schemas.avro.texts import array, enum, field, fixed, map_of, record

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
DEFAULTS: dict[str, Any] = {"null": None, "boolean": True, "int": 1, "long": 2, "float": 1.5, "double": 2.5} | {
    "bytes": "b",
    "string": "s",
}
SYMBOLS = ("a", "b", "c", "d")


class Generator:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._names = 0

    def schema(self) -> Any:
        self._names = 0
        return self._type(3, None)

    def _name(self) -> str:
        self._names += 1
        return f"N{self._names}"

    def _type(self, depth: int, within: str | None) -> Any:
        kinds = ["primitive"] * 3 if depth else ["primitive"]
        kinds += ["enum", "fixed"] + ["record", "record", "array", "map", "union"] * (depth > 0)
        match self._rng.choice(kinds):
            case "primitive":
                return self._rng.choice(PRIMITIVES)
            case "enum":
                symbols = self._rng.sample(SYMBOLS, self._rng.randint(1, 4))
                default = {"default": symbols[0]} if self._rng.random() < 0.3 else {}
                return enum(self._name(), *symbols, **default)
            case "fixed":
                return fixed(self._name(), self._rng.randint(1, 3))
            case "array":
                return array(self._type(depth - 1, within))
            case "map":
                return map_of(self._type(depth - 1, within))
            case "union":
                return self._union(depth, within)
        name = self._name()
        fields = [self._field(f"f{index}", depth, name) for index in range(self._rng.randint(0, 4))]
        return record(name, *fields)

    def _field(self, name: str, depth: int, within: str) -> Any:
        if self._rng.random() < 0.2:
            return field(name, ["null", within])  # recursive
        type_ = self._type(depth - 1, within)
        default = {"default": DEFAULTS[type_]} if isinstance(type_, str) and self._rng.random() < 0.4 else {}
        return field(name, type_, **default)

    def _union(self, depth: int, within: str | None) -> Any:
        found: dict[str, Any] = {}
        for _ in range(self._rng.randint(1, 3)):
            type_ = self._type(depth - 1, within)
            if not isinstance(type_, list):
                label = type_ if isinstance(type_, str) else type_.get("name", type_["type"])
                found.setdefault(label, type_)
        return list(found.values()) or ["null"]

    def changed(self, schema: Any) -> Any:
        """The schema with a few changes, as the next version has."""
        changed = self._change(copy.deepcopy(schema), self._rng.choice((0.05, 0.2, 0.5)))
        return self._renamed(changed, f"N{self._rng.randint(1, 3)}") if self._rng.random() < 0.2 else changed

    def _renamed(self, schema: Any, name: str) -> Any:
        """With another name for a type wherever it is named, and perhaps the old one as an alias."""
        renamed = json.loads(json.dumps(schema).replace(f'"{name}"', '"Renamed"'))
        if self._rng.random() < 0.5:
            for each in definitions(renamed):
                if each["name"] == "Renamed":
                    each["aliases"] = [name]
        return renamed

    def _change(self, type_: Any, chance: float) -> Any:
        if isinstance(type_, list):
            branches = [self._change(each, chance) for each in type_]
            if self._rng.random() < chance and len(branches) > 1:
                branches.pop(self._rng.randrange(len(branches)))
            if self._rng.random() < chance:
                branches.append(self._rng.choice(PRIMITIVES))
            return _distinct(branches)
        if self._rng.random() < chance / 3 and not isinstance(type_, list):
            return _distinct([type_, "null"])
        if isinstance(type_, str):
            return self._rng.choice(PRIMITIVES) if type_ in PRIMITIVES and self._rng.random() < chance else type_
        for key in ("items", "values"):
            if key in type_:
                type_[key] = self._change(type_[key], chance)
        if "symbols" in type_ and self._rng.random() < chance:
            type_["symbols"] = self._rng.sample(SYMBOLS, self._rng.randint(1, 4))
            type_.pop("default", None)
            if self._rng.random() < 0.3:
                type_["default"] = type_["symbols"][0]
        if "size" in type_ and self._rng.random() < chance:
            type_["size"] = self._rng.randint(1, 3)
        if "fields" in type_:
            type_["fields"] = self._change_fields(type_["fields"], chance)
        return type_

    def _change_fields(self, fields: list[Any], chance: float) -> list[Any]:
        kept = []
        for each in fields:
            defines = isinstance(each["type"], dict | list)  # others may name what it defines
            if self._rng.random() < chance and not defines:
                continue
            each["type"] = self._change(each["type"], chance)
            each.pop("default", None)
            if isinstance(each["type"], str) and each["type"] in DEFAULTS and self._rng.random() < 0.5:
                each["default"] = DEFAULTS[each["type"]]
            if self._rng.random() < chance / 2:
                each["aliases"], each["name"] = [each["name"]], f"{each['name']}_new"
            kept.append(each)
        if self._rng.random() < chance:
            type_ = self._rng.choice(PRIMITIVES)
            default = {"default": DEFAULTS[type_]} if self._rng.random() < 0.5 else {}
            kept.append(field("added", type_, **default))
        self._rng.shuffle(kept) if all(isinstance(each["type"], str) for each in kept) else None
        return kept


def _distinct(branches: list[Any]) -> list[Any]:
    found: dict[str, Any] = {}
    for each in branches:
        for one in each if isinstance(each, list) else [each]:
            found.setdefault(one if isinstance(one, str) else one.get("name", one["type"]), one)
    return list(found.values())


def definitions(type_: Any) -> Iterator[Any]:
    """The named types that a schema defines."""
    if isinstance(type_, list):
        for each in type_:
            yield from definitions(each)
    elif isinstance(type_, dict):
        if "name" in type_:
            yield type_
        for each in type_.get("fields", ()):
            yield from definitions(each["type"])
        yield from definitions(type_.get("items"))
        yield from definitions(type_.get("values"))


class Data:
    """Values of a schema, such that each branch of a union and each symbol of an enum is in one of them."""

    def __init__(self, schema: Any) -> None:
        self._named = {each["name"]: each for each in definitions(schema)}
        self._schema = schema

    def values(self) -> Iterator[Any]:
        for number in range(12):
            yield self._value(self._schema, number, 0)

    def _value(self, type_: Any, number: int, depth: int) -> Any:
        if isinstance(type_, list):
            index = 0 if depth > 6 and "null" in type_ else number % len(type_)
            branch = type_[type_.index("null") if depth > 6 and "null" in type_ else index]
            value = self._value(branch, number // len(type_) + depth, depth + 1)
            return value if isinstance(branch, str) and branch not in self._named else _branch(branch, value)
        if isinstance(type_, str) and type_ in self._named:
            type_ = self._named[type_]
        if isinstance(type_, str):
            return _PLAIN[type_]
        match type_["type"]:
            case "enum":
                return type_["symbols"][number % len(type_["symbols"])]
            case "fixed":
                return b"x" * type_["size"]
            case "array":
                return [self._value(type_["items"], number + each, depth + 1) for each in range(1 if depth > 6 else 4)]
            case "map":
                return {"k": self._value(type_["values"], number, depth + 1)}
        return {
            each["name"]: self._value(each["type"], number + index, depth + 1)
            for index, each in enumerate(type_["fields"])
        }


_PLAIN: dict[str, Any] = {"null": None, "boolean": True, "int": 7, "long": 2**40, "float": 1.5, "double": 1e300} | {
    "bytes": b"\x01",
    "string": "text",
}


def _branch(branch: Any, value: Any) -> Any:
    """fastavro's way to say which branch of a union is meant."""
    name = branch if isinstance(branch, str) else branch.get("name")
    return (name, value) if name else value

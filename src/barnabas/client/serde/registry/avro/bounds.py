"""Avro data that would harm whoever reads them are refused before fastavro sees them.

fastavro trusts what data say of themselves. With some schemas that is not bounded by their size, or not by much:

- a type that contains itself is read by recursion in C: 5 KB that say "and another one" end the process;
- an array of what takes no bytes (null, a record without fields) has as many items as its count says, in memory;
- a decimal takes time by the square of its length: minutes for 1 MB.

Data of such schemas are walked over once, without making values; those of all others cost nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from barnabas.client.serde.serializers import Value
from barnabas.model.limits import AVRO_DECIMAL_MAX_BYTES, AVRO_EMPTY_ITEMS_MAX, AVRO_NESTING_MAX

Check = Callable[[bytes, int], None]

_FIXED_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_NUMBERS = ("int", "long", "enum")
_HARMLESS_BYTES = min(AVRO_NESTING_MAX, AVRO_DECIMAL_MAX_BYTES)  # each level takes a byte at least


class HarmfulData(ValueError):
    pass


class _Items(NamedTuple):
    """What is left of a block of an array or a map."""

    block: dict[str, Value]
    left: int


def check_for(parsed: Value) -> Check | None:
    """What raises HarmfulData for data of a schema that fastavro has parsed; None where it is not needed."""
    walk = _Walk(parsed)
    if not (walk.endless or walk.empty_items or walk.recursive or walk.decimals):
        return None
    least = 0 if walk.endless or walk.empty_items else _HARMLESS_BYTES

    def check(data: bytes, start: int) -> None:
        if len(data) - start >= least:
            walk.over(data, start)

    return check


class _Walk:
    def __init__(self, parsed: Value) -> None:
        self._root = parsed
        self._named: dict[str, Value] = {}
        self._empty: dict[str, bool] = {}  # by a record's name
        self.recursive = self.endless = self.empty_items = self.decimals = False
        self._look(parsed, ())

    # --- the schema -------------------------------------------------------------------------------------------------

    def _look(self, schema: Value, within: tuple[str, ...]) -> None:
        if isinstance(schema, list):
            for each in schema:
                self._look(each, within)
            return
        if isinstance(schema, str):
            self.recursive |= schema in within
            return
        kind = schema["type"]
        if isinstance(kind, (dict, list)):
            self._look(kind, within)
        elif kind in ("record", "error"):
            self._named[schema["name"]] = schema
            for field in schema["fields"]:
                self._look(field["type"], (*within, schema["name"]))
            # Records of nothing in records of nothing, two in each: their number doubles with each level.
            self.empty_items |= self._is_empty(schema, ()) and len(schema["fields"]) > 1
        elif kind in ("fixed", "enum"):
            self._named[schema["name"]] = schema
            self.decimals |= kind == "fixed" and _is_decimal(schema) and schema["size"] > AVRO_DECIMAL_MAX_BYTES
        elif kind in ("array", "map"):
            self._look(schema["items" if kind == "array" else "values"], within)
            self.empty_items |= kind == "array" and self._is_empty(schema["items"], ())
        else:
            self.decimals |= kind == "bytes" and _is_decimal(schema)
            self.recursive |= kind in within

    def _is_empty(self, schema: Value, within: tuple[str, ...]) -> bool:
        """Whether a value takes no bytes. What has to contain itself has no end."""
        schema = self._resolved(schema)
        if isinstance(schema, list):
            return False
        kind = schema["type"]
        if kind in ("record", "error"):
            if schema["name"] in within:
                self.endless = True
                return True
            if schema["name"] not in self._empty:
                inside = (*within, schema["name"])
                found = [self._is_empty(each["type"], inside) for each in schema["fields"]]
                self._empty[schema["name"]] = all(found)
            return self._empty[schema["name"]]
        return bool(kind == "null" or (kind == "fixed" and schema["size"] == 0))

    def _resolved(self, schema: Value) -> Value:
        """A union, or a dict whose type is a word of Avro."""
        while True:
            if isinstance(schema, str):
                schema = self._named.get(schema, {"type": schema})
            elif isinstance(schema, dict) and (
                isinstance(schema["type"], (dict, list)) or schema["type"] in self._named
            ):
                schema = schema["type"]
            else:
                return schema

    # --- the data ---------------------------------------------------------------------------------------------------

    def over(self, data: bytes, at: int) -> None:
        size, depth, empty = len(data), 0, 0
        waiting: list[Value] = [self._root]
        while waiting:
            if at > size:
                raise HarmfulData("the data end inside of a value")
            schema = waiting.pop()
            if schema is None:  # the end of a record
                depth -= 1
                continue
            if isinstance(schema, _Items):
                if schema.left > 1:
                    waiting.append(schema._replace(left=schema.left - 1))
                if schema.block["type"] == "map":
                    waiting.append(schema.block["values"])
                    length, at = _number(data, at)
                    at += _length(length)
                else:
                    waiting.append(schema.block["items"])
                continue
            schema = self._resolved(schema)
            if isinstance(schema, list):
                branch, at = _number(data, at)
                if not 0 <= branch < len(schema):
                    raise HarmfulData(f"a union has no branch {branch}")
                waiting.append(schema[branch])
                continue
            kind = schema["type"]
            if kind in _FIXED_SIZES:
                at += _FIXED_SIZES[kind]
            elif kind in _NUMBERS:
                _, at = _number(data, at)
            elif kind in ("record", "error"):
                depth += 1
                if depth > AVRO_NESTING_MAX:
                    raise HarmfulData(f"records are nested more than {AVRO_NESTING_MAX} deep")
                empty += self._is_empty(schema, ())
                _check_empty(empty)
                waiting.append(None)
                waiting += [each["type"] for each in reversed(schema["fields"])]
            elif kind == "fixed":
                _check_decimal(schema, schema["size"])
                at += schema["size"]
            elif kind in ("array", "map"):
                count, at = _number(data, at)
                if count < 0:
                    count = -count
                    _, at = _number(data, at)  # the block's size
                if not count:
                    continue
                waiting.append(schema)  # the next block
                if kind == "array" and self._is_empty(schema["items"], ()):
                    empty += count
                    _check_empty(empty)
                    continue
                waiting.append(_Items(schema, count))
            else:
                length, at = _number(data, at)
                _check_decimal(schema, _length(length))
                at += length


def _check_empty(number: int) -> None:
    if number > AVRO_EMPTY_ITEMS_MAX:
        raise HarmfulData(f"more than {AVRO_EMPTY_ITEMS_MAX:,} items or records of no bytes")


def _is_decimal(schema: dict[str, Value]) -> bool:
    return schema.get("logicalType") == "decimal"


def _check_decimal(schema: dict[str, Value], length: int) -> None:
    if length > AVRO_DECIMAL_MAX_BYTES and _is_decimal(schema):
        raise HarmfulData(f"a decimal of {length} bytes: at most {AVRO_DECIMAL_MAX_BYTES} are read")


def _length(number: int) -> int:
    if number < 0:
        raise HarmfulData("a length is negative")
    return number


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number of Avro, and where it ends."""
    found = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise HarmfulData("the data end inside of a value" if at >= len(data) else "a number is too long")
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at
        shift += 7

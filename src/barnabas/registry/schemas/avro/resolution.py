"""Avro's schema resolution: why data of a writer's type cannot be read with a reader's, with the kinds and paths of
Avro's SchemaCompatibility in Java, which Confluent's registry reports.

Two rules are Java's and not the specification's. Names are compared without their namespace. In a writer's union every
branch has to be readable, though the specification leaves it to the data.

Recursive types: a pair of types that is being compared counts as readable where it is met again. What was found
readable by that assumption is forgotten if the pair turns out not to be.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model import limits
from barnabas.registry.schemas.avro.types import Array, Enum, Field, Fixed, Map, Named, Primitive, Record, Type, Union
from barnabas.registry.schemas.parsed import Incompatibility, InvalidSchema

# What a reader's primitive takes besides its own type.
_PROMOTED: dict[str, tuple[str, ...]] = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}
_READABLE: tuple[Incompatibility, ...] = ()
_DEPTH_MAX = 2 * limits.SCHEMA_TYPE_NESTING_MAX  # a pair of cycles is longer than each of them
_SMALL_UNION = 50  # branches; in a larger one each pair would be a comparison
_SHOWN_MAX = 10  # names in one message
_Found = tuple[Incompatibility, ...]


class Resolution:
    """One comparison of two schemas."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], _Found] = {}
        self._readable: list[tuple[int, int]] = []  # pairs found readable, in that order
        self._by_label: dict[int, dict[str, list[Type]]] = {}  # branches of a union
        self._steps = self._depth = 0

    def unreadable(self, reader: Type, writer: Type) -> Sequence[Incompatibility]:
        return self._compare(reader, writer, "")[: limits.INCOMPATIBILITIES_MAX]

    def _compare(self, reader: Type, writer: Type, path: str) -> _Found:
        self._steps += 1
        if self._steps > limits.SCHEMA_COMPARISONS_MAX:
            raise InvalidSchema(f"comparing the schemas takes more than {limits.SCHEMA_COMPARISONS_MAX:,} steps")
        if isinstance(reader, Primitive) and isinstance(writer, Primitive):
            return _READABLE if _takes(reader, writer) else (_type_mismatch(reader, writer, path),)
        pair = id(reader), id(writer)
        if pair in self._known:
            return self._known[pair]
        if self._depth >= _DEPTH_MAX:
            raise InvalidSchema(f"the schemas are recursive, and comparing them goes deeper than {_DEPTH_MAX} types")
        self._known[pair] = _READABLE  # unless found otherwise
        mark = len(self._readable)
        self._depth += 1
        found = self._differences(reader, writer, path)[: limits.INCOMPATIBILITIES_MAX]
        self._depth -= 1
        if found:
            for each in self._readable[mark:]:
                del self._known[each]
            del self._readable[mark:]
            self._known[pair] = found
        else:
            self._readable.append(pair)
        return found

    def _differences(self, reader: Type, writer: Type, path: str) -> _Found:
        if isinstance(writer, Union):
            return self._of_union(reader, writer, path)
        if isinstance(reader, Union):
            return self._to_union(reader, writer, path)
        if isinstance(reader, Array) and isinstance(writer, Array):
            return self._compare(reader.items, writer.items, f"{path}/items")
        if isinstance(reader, Map) and isinstance(writer, Map):
            return self._compare(reader.values, writer.values, f"{path}/values")
        if isinstance(reader, Record) and isinstance(writer, Record):
            return _names(reader, writer, path) + self._fields(reader, writer, path)
        if isinstance(reader, Enum) and isinstance(writer, Enum):
            return _names(reader, writer, path) + _symbols(reader, writer, path)
        if isinstance(reader, Fixed) and isinstance(writer, Fixed):
            return _names(reader, writer, path) + _sizes(reader, writer, path)
        return (_type_mismatch(reader, writer, path),)

    def _of_union(self, reader: Type, writer: Union, path: str) -> _Found:
        result: list[Incompatibility] = []
        for index, branch in enumerate(writer.branches):
            if len(result) >= limits.INCOMPATIBILITIES_MAX:
                break
            result += self._compare(reader, branch, f"{path}/{index}")
        return tuple(result)

    def _to_union(self, reader: Union, writer: Type, path: str) -> _Found:
        nearest: _Found = ()
        for branch in self._branches(reader, writer):
            found = self._compare(branch, writer, path)
            if not found:
                return _READABLE
            nearest = nearest or found
        more = len(reader.branches) - _SHOWN_MAX
        branches = _some([_label(each) for each in reader.branches[:_SHOWN_MAX]], more) or "none"
        message = f"data of {_label(writer)} fits no branch of the union ({branches})"
        if nearest:
            message += f"; the nearest: {nearest[0].message}"
            message += f" ({nearest[0].path})" if nearest[0].path != _shown(path) else ""
        return (Incompatibility("MISSING_UNION_BRANCH", _shown(path), message),)

    def _branches(self, reader: Union, writer: Type) -> Sequence[Type]:
        """The branches that may take data of a type: those of its name or alias, or of its kind; of a small union all
        of its kind, since one that is being compared counts as readable whatever its name."""
        index = self._by_label.get(id(reader))
        if index is None:
            index = self._by_label[id(reader)] = {}
            for branch in reader.branches:
                for label in _labels(branch):
                    index.setdefault(label, []).append(branch)
        if isinstance(writer, Record | Enum | Fixed):
            named = [*index.get(f"{writer.kind} {writer.name.simple}", ())]
            named += index.get(f"{writer.kind} alias {writer.name.full}", ())
            if len(reader.branches) <= _SMALL_UNION:
                named += [each for each in reader.branches if each.kind == writer.kind and each not in named]
            return named
        return index.get(writer.kind, ())

    def _fields(self, reader: Record, writer: Record, path: str) -> _Found:
        result: list[Incompatibility] = []
        for index, field in enumerate(reader.fields.values()):
            if len(result) >= limits.INCOMPATIBILITIES_MAX:
                break
            here = f"{path}/fields/{index}"
            matches = _writer_fields(field, writer)
            if len(matches) > 1:
                names = " and ".join(each.name for each in matches[:_SHOWN_MAX])
                message = f"field {field.name!r} and its aliases match several fields of the data: {names}"
                result.append(Incompatibility("NAME_MISMATCH", here, message))
            elif matches:
                result += self._compare(field.type, matches[0].type, f"{here}/type")
            elif not field.has_default:
                message = f"field {field.name!r} has no default, and data does not have it"
                result.append(Incompatibility("READER_FIELD_MISSING_DEFAULT_VALUE", here, message))
        return tuple(result)


def _writer_fields(field: Field, writer: Record) -> list[Field]:
    names = dict.fromkeys((field.name, *field.aliases))
    return [writer.fields[name] for name in names if name in writer.fields]


def _labels(branch: Type) -> list[str]:
    """What data may be called that a branch takes."""
    if isinstance(branch, Record | Enum | Fixed):
        aliases = [f"{branch.kind} alias {each.full}" for each in branch.aliases if each.simple != branch.name.simple]
        return [f"{branch.kind} {branch.name.simple}", *aliases]
    return [branch.kind, *_PROMOTED.get(branch.kind, ())]


def _takes(reader: Primitive, writer: Primitive) -> bool:
    return reader.kind == writer.kind or writer.kind in _PROMOTED.get(reader.kind, ())


def _same_name(reader: Type, writer: Type) -> bool:
    if not isinstance(reader, Record | Enum | Fixed) or not isinstance(writer, Record | Enum | Fixed):
        return True
    return reader.name.simple == writer.name.simple or any(each.full == writer.name.full for each in reader.aliases)


def _names(reader: Named, writer: Named, path: str) -> _Found:
    if _same_name(reader, writer):
        return _READABLE
    message = (
        f"data of {_label(writer)} cannot be read as {_label(reader)}:"
        f" the names differ, and {reader.name.full!r} has no alias {writer.name.full!r}"
    )
    return (Incompatibility("NAME_MISMATCH", f"{path}/name", message),)


def _symbols(reader: Enum, writer: Enum, path: str) -> _Found:
    missing = sorted(set(writer.symbols) - set(reader.symbols))
    if not missing or reader.default is not None:
        return _READABLE
    shown = _some(missing[:_SHOWN_MAX], len(missing) - _SHOWN_MAX)
    message = f"enum {reader.name.full!r} has no default and lacks symbols of the data: {shown}"
    return (Incompatibility("MISSING_ENUM_SYMBOLS", f"{path}/symbols", message),)


def _sizes(reader: Fixed, writer: Fixed, path: str) -> _Found:
    if reader.size == writer.size:
        return _READABLE
    message = f"fixed {reader.name.full!r} has {reader.size} bytes, data has {writer.size}"
    return (Incompatibility("FIXED_SIZE_MISMATCH", f"{path}/size", message),)


def _type_mismatch(reader: Type, writer: Type, path: str) -> Incompatibility:
    return Incompatibility(
        "TYPE_MISMATCH", _shown(path), f"data of {_label(writer)} cannot be read as {_label(reader)}"
    )


def _label(type_: Type) -> str:
    if isinstance(type_, Record | Enum | Fixed):
        return f"{type_.kind} {type_.name.full!r}"
    return f"type {type_.kind}" if type_.kind != "union" else "a union"


def _some(names: Sequence[str], more: int = 0) -> str:
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _shown(path: str) -> str:
    return path or "/"

"""Whether data of one version of a Protobuf schema can be read with another: the rules of Confluent's registry.

Messages are paired by name, fields by number. What changes the bytes of a field is refused (kinds of scalars, numbers
that repeat, what a oneof excludes), and so is what loses a type. Names of fields, enums and their values, and the
package may change. A field whose message cannot be read is named as well (FIELD_NAMED_TYPE_CHANGED).

Three changes that Confluent's registry lets pass are refused here, because data is lost or reading fails: a number that
no longer repeats where a label is not said (proto3), a field of any type that becomes required, and two oneofs that
become one.

Every pair of messages is compared once, without recursion; which fields depend on which pairs is worked out at the end.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from barnabas.model.limits import INCOMPATIBILITIES_MAX, SCHEMA_COMPARISONS_MAX
from barnabas.registry.schemas.parsed import Incompatibility, InvalidSchema
from barnabas.registry.schemas.protobuf.scopes import Scope
from barnabas.registry.schemas.protobuf.tree import SCALARS, Enum, Field, File, Message, Oneof, Word

# Scalars of one group have the same bytes, as far as a value fits both.
_GROUPS = {
    "int32": "number", "int64": "number", "uint32": "number", "uint64": "number", "bool": "number",
    "sint32": "zigzag", "sint64": "zigzag", "string": "bytes", "bytes": "bytes",
    "fixed32": "fixed32", "sfixed32": "fixed32", "fixed64": "fixed64", "sfixed64": "fixed64",
    "float": "float", "double": "double",
}  # fmt: skip
assert _GROUPS.keys() == SCALARS

Pair = tuple[Scope, Scope]  # the writer's message and the reader's
Members = dict[int, tuple[Field, Oneof | None]]


@dataclass(slots=True)
class _Type:
    kind: str  # scalar, message, group, map
    said: str  # for messages to people
    group: str = ""  # of a scalar
    scope: Scope | None = None  # of a message or a group, where it is known
    parts: tuple[_Type, ...] = ()  # of a map: key and value


@dataclass(slots=True)
class _Result:
    """What was found in one pair, and which fields of it depend on another pair (an empty path: a nested type does)."""

    found: list[Incompatibility] = dataclasses.field(default_factory=list)
    depends: list[tuple[str, str, Pair]] = dataclasses.field(default_factory=list)


def unreadable(reader: File, reader_scope: Scope, writer: File, writer_scope: Scope) -> list[Incompatibility]:
    comparison = _Comparison()
    comparison.types("#", writer.messages, reader.messages, writer_scope, reader_scope)
    return comparison.finish()


class _Comparison:
    def __init__(self) -> None:
        self._steps = 0
        self._result = _Result()  # of the pair at hand; at first, of the file
        self._results: dict[Pair | None, _Result] = {None: self._result}
        self._waiting: list[Pair] = []
        self._count = 0

    def finish(self) -> list[Incompatibility]:
        while self._waiting and self._count < INCOMPATIBILITIES_MAX:
            pair = self._waiting.pop()
            self._result = self._results[pair]
            self._messages(*pair)
        broken = self._broken_pairs()
        found: dict[tuple[str, str], Incompatibility] = {}
        for result in self._results.values():
            named = [
                Incompatibility("FIELD_NAMED_TYPE_CHANGED", path, message)
                for path, message, pair in result.depends
                if path and pair in broken
            ]
            for each in (*result.found, *named):
                found.setdefault((each.kind, each.path), each)
        return list(found.values())[:INCOMPATIBILITIES_MAX]

    def _broken_pairs(self) -> set[Pair | None]:
        """Pairs with something found in them, or in a pair that they depend on."""
        dependants: dict[Pair, list[Pair | None]] = {}
        for pair, result in self._results.items():
            for _, _, other in result.depends:
                dependants.setdefault(other, []).append(pair)
        broken = {pair for pair, result in self._results.items() if result.found}
        waiting = list(broken)
        while waiting:
            pair = waiting.pop()
            for dependant in dependants.get(pair, ()) if pair is not None else ():
                if dependant not in broken:
                    broken.add(dependant)
                    waiting.append(dependant)
        return broken

    def _step(self) -> None:
        self._steps += 1
        if self._steps > SCHEMA_COMPARISONS_MAX:
            raise InvalidSchema(f"comparing the two schemas takes more than {SCHEMA_COMPARISONS_MAX:,} steps")

    def _find(self, kind: str, path: str, message: str) -> None:
        self._count += 1
        if self._count <= INCOMPATIBILITIES_MAX:
            self._result.found.append(Incompatibility(kind, path, message))

    def _depend(self, writer: Scope, reader: Scope, path: str = "", message: str = "") -> None:
        pair = writer, reader
        self._result.depends.append((path, message, pair))
        if pair not in self._results:
            self._results[pair] = _Result()
            self._waiting.append(pair)

    def types(self, path: str, writers: list[Message], readers: list[Message], outer: Scope, inner: Scope) -> None:
        names = {each.name for each in readers}
        for message in writers:
            self._step()
            if message.name in names:
                self._depend(outer.children[message.name], inner.children[message.name])
            elif not message.is_map_entry:
                self._find(
                    "MESSAGE_REMOVED",
                    f"{path}/{message.name}",
                    f"message {message.name} is not in the schema that reads: data of this type cannot be read",
                )

    def _messages(self, writer: Scope, reader: Scope) -> None:
        written, read = writer.message, reader.message
        if written is None or read is None:
            return
        path = "#/" + reader.local_name.replace(".", "/")
        before: Members = {each.number: (each, oneof) for each, oneof in written.fields()}
        after: Members = {each.number: (each, oneof) for each, oneof in read.fields()}
        oneofs = {each.name for each in read.oneofs}
        for number, (field, oneof) in before.items():
            self._step()
            if number in after:
                self._field(path, number, before[number], after[number], writer, reader)
            else:
                self._removed(path, field, oneof, oneofs, reader)
        for number, (field, _) in after.items():
            self._step()
            if number not in before and _is_required(field):
                self._find(
                    "REQUIRED_FIELD_ADDED",
                    f"{path}/{number}",
                    f"field {field.name} of {reader.local_name} is required to read, and data without it was written",
                )
        self._oneofs(path, before, read, reader)
        self.types(path, written.messages, read.messages, writer, reader)

    def _removed(self, path: str, field: Field, oneof: Oneof | None, oneofs: set[str], reader: Scope) -> None:
        name = reader.local_name
        if oneof is not None and oneof.name in oneofs:
            self._find(
                "ONEOF_FIELD_REMOVED",
                f"{path}/{oneof.name}/{field.number}",
                f"field {field.name} is no longer in oneof {oneof.name} of {name}: where it was set, none is when read",
            )
        elif _is_required(field):
            self._find(
                "REQUIRED_FIELD_REMOVED",
                f"{path}/{field.number}",
                f"field {field.name} of {name} was required, and the schema that reads does not have it",
            )

    def _oneofs(self, path: str, before: Members, read: Message, reader: Scope) -> None:
        """Fields that could all be set when they were written must not come into one oneof: only the last stays."""
        for oneof in read.oneofs:
            known = [before[each.number] for each in oneof.fields if each.number in before]
            alone = [each for each, around in known if around is None]
            groups = {around.name for _, around in known if around is not None}
            if len(alone) + len(groups) < 2:
                continue
            existing = len(alone) == 1 and len(groups) == 1
            names = ", ".join(each.name for each, _ in known[:10])
            self._find(
                "FIELD_MOVED_TO_EXISTING_ONEOF" if existing else "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
                f"{path}/{oneof.name}",
                f"{names} could be set together and are in oneof {oneof.name} of {reader.local_name}: one stays",
            )

    def _field(
        self, path: str, number: int, before: tuple[Field, Oneof | None], after: tuple[Field, Oneof | None],
        writer: Scope, reader: Scope,
    ) -> None:  # fmt: skip
        written, read = before[0], after[0]
        oneof = after[1].name if after[1] is not None and before[1] is not None else None
        if oneof is not None and before[1] is not None and before[1].name == oneof:
            path = f"{path}/{oneof}"
        where = f"{path}/{number}"
        words = f"field {read.name} of {reader.local_name}"
        left, right = _type(written, writer), _type(read, reader)
        if self._same_type(where, words, left, right):
            self._label(where, words, left, written, read)

    def _same_type(self, path: str, words: str, left: _Type, right: _Type) -> bool:
        if left.kind != right.kind:
            self._find("FIELD_KIND_CHANGED", path, f"{words} is {right.said} and was written as {left.said}")
            return False
        if left.kind == "scalar" and left.group != right.group:
            self._find(
                "FIELD_SCALAR_KIND_CHANGED",
                path,
                f"{words} is {right.said} and was written as {left.said}, whose bytes are different",
            )
            return False
        if left.kind == "map":
            pairs = zip(left.parts, right.parts, ("the key of ", "the value of "), strict=True)
            same = [self._same_type(path, part + words, one, other) for one, other, part in pairs]
            return all(same)
        if left.kind in ("message", "group"):
            return self._same_message(path, words, left, right)
        return True

    def _same_message(self, path: str, words: str, left: _Type, right: _Type) -> bool:
        one, other = left.scope, right.scope
        same = left.said == right.said if one is None or other is None else one.local_name == other.local_name
        if not same:
            self._find(
                "FIELD_NAMED_TYPE_CHANGED",
                path,
                f"{words} is {right.said} and was written as {left.said}, another message",
            )
        elif one is not None and other is not None:
            self._depend(one, other, path, f"{words} is {right.said}, which cannot read what was written")
        return same

    def _label(self, path: str, words: str, type: _Type, written: Field, read: Field) -> None:
        before, after = _label_of(written), _label_of(read)
        if type.kind == "scalar" and type.group != "bytes":
            said = before is not None and after is not None and before != after
            if said or (before == "repeated" and after is None):
                self._find(
                    "FIELD_NUMERIC_LABEL_CHANGED",
                    path,
                    f"{words} is {after or 'a single value'} and was written as {before}, whose bytes are different",
                )
                return
        if after == "required" and before != "required":
            self._find("REQUIRED_FIELD_ADDED", path, f"{words} is required to read, and data without it was written")


def _type(field: Field, scope: Scope) -> _Type:
    if field.group is not None:
        return _Type("group", f"group {field.group.name}", scope=scope.children[field.group.name])
    if field.map is not None:
        return _map(_named(field.map[0], scope), _named(field.map[1], scope))
    type = _named(field.type, scope)
    entry = type.scope.message if type.scope is not None else None
    if entry is not None and entry.is_map_entry and type.scope is not None:
        types = {each.name: each.type for each, _ in entry.fields()}
        return _map(_named(types.get("key", "string"), type.scope), _named(types.get("value", "string"), type.scope))
    return type


def _map(key: _Type, value: _Type) -> _Type:
    return _Type("map", f"map<{key.said}, {value.said}>", parts=(key, value))


def _named(type: str, scope: Scope) -> _Type:
    if type in SCALARS:
        return _Type("scalar", type, _GROUPS[type])
    found = scope.resolve(type)
    if found is not None and isinstance(found.definition, Enum):
        return _Type("scalar", f"enum {found.local_name}", "number")
    return _Type("message", found.local_name if found is not None else type, scope=found)


def _label_of(field: Field) -> str | None:
    return "required" if _is_required(field) else field.label


def _is_required(field: Field) -> bool:
    return field.label == "required" or field.option("features.field_presence") == Word("LEGACY_REQUIRED")

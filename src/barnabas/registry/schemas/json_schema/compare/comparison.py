"""Facts, parts, cases of anyOf and oneOf, and recursion: a pair that is being compared counts as readable where it is
met again, and what was found readable by that assumption is forgotten if the pair turns out not to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from barnabas.model import limits
from barnabas.model.json_values import Json
from barnabas.registry.schemas.json_schema.compare.found import ENOUGH, NOTHING, ROOT, Facts, Found, Path
from barnabas.registry.schemas.json_schema.compare.items import array_differences
from barnabas.registry.schemas.json_schema.compare.members import object_differences
from barnabas.registry.schemas.json_schema.compare.patterns import Patterns
from barnabas.registry.schemas.json_schema.compare.values import (
    enum_differences,
    number_differences,
    of_values,
    string_differences,
    type_differences,
    types_of,
    values_of,
)
from barnabas.registry.schemas.json_schema.node import Node
from barnabas.registry.schemas.parsed import Incompatibility, InvalidSchema

_DEPTH_MAX = 150  # of schemas in schemas, those that are referred to included: four calls each
_STEPS_EACH = 8  # a comparison looks at some forty keywords
_Key = tuple[tuple[int, ...], frozenset[int], int]


@dataclass(frozen=True, slots=True)
class _Case:
    """One branch of a writer's anyOf, oneOf or list of types."""

    of: Node
    kind: str
    branches: Sequence[Node]


class Comparison:
    """One comparison of two schemas."""

    def __init__(self) -> None:
        self._known: dict[_Key, Found] = {}
        self._readable: list[_Key] = []  # keys found readable, in that order
        self._kept: list[object] = []  # what a key names by identity
        self._patterns = Patterns()
        self._bounds: dict[frozenset[str], Node] = {}
        self._steps = self._depth = 0

    def unreadable(self, reader: Node, writer: Node) -> Sequence[Incompatibility]:
        return self.compare((writer,), reader, ROOT)[:ENOUGH]

    def compare(self, data: tuple[Node, ...], reader: Node, path: Path, settled: frozenset[int] = frozenset()) -> Found:
        """Why data that keeps to all of `data` does not keep to `reader`. `settled`: nodes whose cases are chosen."""
        self.step(_STEPS_EACH)
        if self._depth >= _DEPTH_MAX:
            raise InvalidSchema(f"comparing the schemas goes deeper than {_DEPTH_MAX} schemas")
        known, reader = {id(meant): meant for meant in [each.meant() for each in data]}, reader.meant()
        data, key = tuple(known.values()), (tuple(known), settled, id(reader))
        if key in self._known:
            return self._known[key]
        self._kept.append((data, reader))
        self._known[key] = NOTHING  # unless found otherwise
        mark = len(self._readable)
        self._depth += 1
        found = self._differences(data, reader, path, settled)[:ENOUGH]
        self._depth -= 1
        if found:
            for each in self._readable[mark:]:
                del self._known[each]
            del self._readable[mark:]
            self._known[key] = found
        else:
            self._readable.append(key)
        return found

    def step(self, count: int) -> None:
        self._steps += count
        if self._steps > limits.SCHEMA_COMPARISONS_MAX:
            raise InvalidSchema(f"comparing the schemas takes more than {limits.SCHEMA_COMPARISONS_MAX:,} steps")

    def matches(self, pattern: str, name: str) -> bool | None:
        self.step(1)
        return self._patterns.matches(pattern, name)

    def _differences(self, data: tuple[Node, ...], reader: Node, path: Path, settled: frozenset[int]) -> Found:
        facts = list(_facts(data))
        if any(each.nothing for each in facts):
            return NOTHING
        found = NOTHING
        at: Node | None = reader
        while at is not None:
            found += self._part(data, facts, at, path, settled)
            at = at.ref
        if not found:
            return NOTHING
        for case in _cases(facts, settled):
            chosen = settled | {id(case.of)}
            if all(not self.compare((*data, each), reader, path, chosen) for each in case.branches):
                return NOTHING
        return found

    def _part(
        self, data: tuple[Node, ...], facts: list[Node], reader: Node, path: Path, settled: frozenset[int]
    ) -> Found:
        """One schema of the reader's, without what it refers to."""
        self.step(len(facts))
        types = types_of(facts)
        if not types:
            return NOTHING  # no value is of all these types
        found = type_differences(facts, types, reader, path)
        if found:
            return found
        values = values_of(facts, types)
        if values is not None:
            facts = [*facts, self._of_values(values)]
        found += enum_differences(values, reader, path)
        if "string" in types:
            found += string_differences(facts, values, reader, path)
        if "number" in types or "integer" in types:
            found += number_differences(facts, types, reader, path)
        if "object" in types:
            found += object_differences(facts, reader, path, self)
        if "array" in types:
            found += array_differences(facts, reader, path, self)
        return found + self._combined(data, facts, reader, path, settled)

    def _of_values(self, values: dict[str, Json]) -> Node:
        """One node for the same values: what is compared is known by its identity."""
        key = frozenset(values)
        if key not in self._bounds:
            self._bounds[key] = of_values(values)
        return self._bounds[key]

    def _combined(
        self, data: tuple[Node, ...], facts: Facts, reader: Node, path: Path, settled: frozenset[int]
    ) -> Found:
        found = self._all_of(data, facts, reader, path, settled)
        for kind, branches in (("anyOf", reader.any_of), ("oneOf", reader.one_of)):
            if branches:
                found += self._one_of_them(data, facts, kind, branches, path, settled)
        if reader.negated is not None and not self._negated(facts, reader.negated, path):
            found += (path / "not").says("NOT_TYPE_EXTENDED", "data may be what the schema does not take")
        if reader.condition is not None:
            found += self._condition(data, facts, reader, path, settled)
        return found

    def _all_of(self, data: tuple[Node, ...], facts: Facts, reader: Node, path: Path, settled: frozenset[int]) -> Found:
        found = NOTHING
        for index, part in enumerate(reader.all_of):
            if len(found) >= ENOUGH:
                break
            found += self.compare(data, part, path / "allOf" / index, settled)
        before = max((len(each.all_of) for each in facts), default=0)
        if not found or not before:
            return found
        kind = "PRODUCT_TYPE_EXTENDED" if len(reader.all_of) > before else "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
        return path.says(kind, f"data need not keep to all schemas of allOf; the first reason: {_reason(found)}")

    def _one_of_them(
        self,
        data: tuple[Node, ...],
        facts: Facts,
        kind: str,
        branches: Sequence[Node],
        path: Path,
        settled: frozenset[int],
    ) -> Found:
        cases = list(_cases(facts, frozenset()))
        chosen = [each for each in cases if id(each.of) in settled]
        several = any(each.kind == "anyOf" and len(each.branches) > 1 for each in chosen)
        if kind == "oneOf" and several and not any(each.kind == "oneOf" for each in chosen):
            return path.says("COMBINED_TYPE_CHANGED", "data may match several schemas, and oneOf takes one only")
        nearest = NOTHING
        for index, branch in enumerate(branches):
            found = self.compare(data, branch, path / kind / index, settled)
            if not found:
                return NOTHING
            nearest = min(nearest or found, found, key=len)
        if not cases:
            change = "TYPE_CHANGED"
        elif kind == "oneOf" and all(each.kind == "anyOf" and len(each.branches) > 1 for each in cases):
            change = "COMBINED_TYPE_CHANGED"
        else:
            longest = max(len(each.branches) for each in cases)
            change = "SUM_TYPE_NARROWED" if longest > len(branches) else "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
        return path.says(change, f"data may fit no schema of {kind}; the nearest reason: {_reason(nearest)}")

    def _accept_the_same(self, one: Node, other: Node, path: Path) -> bool:
        return not self.compare((one,), other, path) and not self.compare((other,), one, path)

    def _negated(self, facts: Facts, negated: Node, path: Path) -> bool:
        if not types_of([*facts, *_facts((negated,))]):
            return True  # nothing is of the types of both
        before = [each.negated for each in facts if each.negated is not None]
        return any(not self.compare((negated,), each, path / "not") for each in before)

    def _condition(
        self, data: tuple[Node, ...], facts: Facts, reader: Node, path: Path, settled: frozenset[int]
    ) -> Found:
        condition = reader.condition
        assert condition is not None
        stated = [each.condition for each in facts if each.condition is not None]
        same = [each for each in stated if self._accept_the_same(each.test, condition.test, path / "if")]
        for wanted, name in ((condition.then, "then"), (condition.otherwise, "else")):
            if wanted is None:
                continue
            before = [each.then if name == "then" else each.otherwise for each in same]
            known = tuple(each for each in before if each is not None)
            if self.compare((*data, *known), wanted, path / name, settled):
                return (path / "if").says("TYPE_CHANGED", f"data need not keep to the schema of `{name}`")
        return NOTHING


def _facts(data: tuple[Node, ...]) -> Iterator[Node]:
    """The schemas that all hold: those given, what they refer to, and the parts of their allOf."""
    seen: set[int] = set()
    waiting = list(reversed(data))
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        waiting.extend(reversed(node.all_of))
        if node.ref is not None:
            waiting.append(node.ref)


def _cases(facts: Facts, settled: frozenset[int]) -> Iterator[_Case]:
    for each in facts:
        if id(each) in settled:
            continue
        if each.one_of:
            yield _Case(each, "oneOf", each.one_of)
        elif each.any_of:
            yield _Case(each, "anyOf", each.any_of)
        elif each.types is not None and len(each.types) > 1:
            yield _Case(each, "types", each.one_type_each())


def _reason(found: Found) -> str:
    return f"{found[0].message} ({found[0].path})"

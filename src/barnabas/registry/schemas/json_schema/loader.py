"""Makes nodes of JSON: checks each keyword, and finds what each `$ref` refers to, in the document itself or in those of
the references. Nothing is fetched: a `$ref` that leads elsewhere is an error.

Every schema is looked at once, by a list of what is still to be looked at and not by recursion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote, urljoin

from barnabas.model import limits
from barnabas.model.json_values import Json, JsonObject
from barnabas.registry.schemas.json_schema import keywords
from barnabas.registry.schemas.json_schema.filling import fill
from barnabas.registry.schemas.json_schema.node import Node
from barnabas.registry.schemas.json_text import TextReader
from barnabas.registry.schemas.parsed import InvalidSchema, ReferencedSchema

_REFS = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass(slots=True, eq=False)
class Place:
    """Where a schema stands."""

    root: Json  # what a pointer begins at: the document, or the schema in it that has an address of its own
    base: str  # the address that relative ones are relative to
    draft: int
    at: tuple[Place, str] | str  # for errors: the place above and the way from there, or a whole path
    depth: int = 0

    def below(self, *steps: str | int) -> Place:
        return Place(self.root, self.base, self.draft, (self, "/".join(map(str, steps))), self.depth + 1)

    @property
    def path(self) -> str:
        steps: list[str] = []
        at = self.at
        while isinstance(at, tuple):
            steps.append(at[1][:100])
            at = at[0].at
        return "/".join((at, *reversed(steps)))


@dataclass(slots=True)
class Loader:
    stored: bool
    _nodes: dict[int, Node] = field(default_factory=dict)  # by the identity of a JSON object
    _waiting: list[tuple[JsonObject, Node, Place]] = field(default_factory=list)
    _refs: list[tuple[Node, str, Place]] = field(default_factory=list)
    _addresses: dict[str, tuple[Json, Place]] = field(default_factory=dict)  # of documents, $id and anchors

    def load(self, text: str, references: Sequence[ReferencedSchema]) -> tuple[Json, Node]:
        if len(references) > limits.SCHEMA_REFERENCES_MAX:
            raise InvalidSchema(f"more than {limits.SCHEMA_REFERENCES_MAX:,} references")
        reader = TextReader()
        document = reader.read(text, exact=True)
        place = _top(document, "", "#")
        own = document.get("id" if place.draft == 4 else "$id") if isinstance(document, dict) else None
        for each in references:
            value = reader.read(each.text, each.name, exact=True)
            within = _top(value, each.name, f"{each.name}#")
            for address in (each.name, _joined(own if isinstance(own, str) else "", each.name)):
                self._addresses[_parts(address)[0]] = (value, within)
            self.node(value, within)
        root = self.node(document, place)
        self._work()
        _refuse_loops(self._nodes.values())
        return document, root

    def node(self, value: Json, place: Place) -> Node:
        """The node of a schema, to be filled later."""
        if isinstance(value, bool):
            return Node(value)
        if not isinstance(value, dict):
            raise InvalidSchema(f"{place.path} is no schema: an object, true or false is one")
        found = self._nodes.get(id(value))
        if found is None:
            if place.depth > limits.SCHEMA_TYPE_NESTING_MAX:
                raise InvalidSchema(
                    f"schemas nested deeper than {limits.SCHEMA_TYPE_NESTING_MAX}: {place.path[:200]}..."
                )
            if len(self._nodes) >= limits.SCHEMA_SUBSCHEMAS_MAX:
                raise InvalidSchema(f"more than {limits.SCHEMA_SUBSCHEMAS_MAX:,} schemas within the schema")
            found = self._nodes[id(value)] = Node(value)
            self._waiting.append((value, found, place))
        return found

    def _work(self) -> None:
        while self._waiting or self._refs:
            while self._waiting:
                self._fill(*self._waiting.pop())
            refs, self._refs = self._refs, []
            for node, ref, place in refs:
                node.ref = self._target(ref, place)

    def _fill(self, schema: JsonObject, node: Node, place: Place) -> None:
        place = self._addressed(schema, place)
        refs = [schema[each] for each in _REFS if isinstance(schema.get(each), str)]
        if refs:
            self._refs.append((node, refs[0], place))
            node.only_ref = len(schema) == 1 or ("$ref" in schema and place.draft <= 7)
        if "$ref" in schema and place.draft <= 7:  # all else beside a $ref is passed over, but pointers may lead there
            refused = "" if refs else "$ref is not a text"
        else:
            refused = keywords.broken_rule(schema, place.draft)
        if refused:
            raise InvalidSchema(f"{place.path}: {refused}")
        for keyword in ("definitions", "$defs"):
            if keyword in schema:
                self._definitions(schema[keyword], place.below(keyword))
        if "$ref" not in schema or place.draft > 7:
            fill(node, schema, place, self.node)

    def _definitions(self, definitions: Json, place: Place) -> None:
        if not isinstance(definitions, dict):
            raise InvalidSchema(f"{place.path} is no object of schemas")
        for name, each in definitions.items():
            self.node(each, Place(place.root, place.base, place.draft, (place, name), place.depth))

    def _addressed(self, schema: JsonObject, place: Place) -> Place:
        """The place by the schema's own address, if it has one."""
        stated = schema.get("id" if place.draft == 4 else "$id")
        if isinstance(stated, str) and stated:
            address, fragment = _parts(_joined(place.base, stated))
            if fragment and stated.startswith("#"):  # draft-04 to -07: a name within the document
                self._addresses.setdefault(f"{place.base}#{fragment}", (schema, place))
            else:
                place = Place(schema, address, place.draft, place.at, place.depth)
                self._addresses.setdefault(address, (schema, place))
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                self._addresses.setdefault(f"{place.base}#{schema[keyword]}", (schema, place))
        return place

    def _target(self, ref: str, place: Place) -> Node:
        address, fragment = _parts(_joined(place.base, ref))
        fragment = unquote(fragment)
        if f"{address}#{fragment}" in self._addresses:
            return self.node(*self._addresses[f"{address}#{fragment}"])
        if ref.startswith("#"):
            value, within = place.root, place
        elif _parts(ref)[0] in self._addresses:  # the reference's name, as the text says it
            value, within = self._addresses[_parts(ref)[0]]
        elif address in self._addresses:
            value, within = self._addresses[address]
        else:
            return self._unknown(ref, place, "name it in the references")
        if fragment.startswith("/"):
            try:
                value = _pointed(value, fragment)
            except (KeyError, IndexError, ValueError, TypeError):
                return self._unknown(ref, place, "there is nothing at that place")
        elif fragment:
            return self._unknown(ref, place, "there is no such anchor")
        root_path = "#" if within.root is value else f"#{fragment}"
        return self.node(value, Place(within.root, within.base, within.draft, root_path))

    def _unknown(self, ref: str, place: Place, why: str) -> Node:
        if self.stored or keywords.is_meta_schema(ref):
            return Node()  # what it accepts is not known
        raise InvalidSchema(f"{place.path}: $ref {ref[:200]!r} leads nowhere: {why}")


def _top(document: Json, name: str, path: str) -> Place:
    return Place(document, name, keywords.draft_of(document), path)


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address)
    except ValueError:  # an address that is none, such as http://[
        return address


def _parts(address: str) -> tuple[str, str]:
    """An address without its fragment, and that."""
    address, _, fragment = address.partition("#")
    return address, fragment


def _pointed(value: Json, pointer: str) -> Json:
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def _refuse_loops(nodes: Iterable[Node]) -> None:
    """A `$ref` that leads back to itself, by others or not, says nothing."""
    checked: set[int] = set()
    for node in nodes:
        chain: dict[int, Node] = {}
        at: Node | None = node
        while at is not None and id(at) not in checked:
            if id(at) in chain:
                raise InvalidSchema(f"$ref {at.value.get('$ref')!r} refers to itself")
            chain[id(at)] = at
            at = at.ref
        checked.update(chain)

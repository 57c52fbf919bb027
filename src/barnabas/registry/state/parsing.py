"""Schemas parsed with what they refer to, remembered for the next time: the same few are looked up again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.model.limits import REGISTRY_PARSED_MAX_BYTES, SCHEMA_MAX_BYTES, SCHEMA_REFERENCES_MAX
from barnabas.registry.errors import invalid_schema
from barnabas.registry.schemas.formats import SCHEMA_TYPES, parse
from barnabas.registry.schemas.parsed import InvalidSchema, ParsedSchema, ReferencedSchema, SchemaType
from barnabas.registry.state import names, questions
from barnabas.registry.state.contents import Contents
from barnabas.registry.state.values import Reference, Stored

_TIMES_TEXT = 8  # what a parsed schema takes, in bytes of its text: a guess on the safe side
_LEAST_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class Source:
    """All that is needed to parse a schema, so that a thread can do it."""

    type: SchemaType
    text: str
    references: tuple[ReferencedSchema, ...] = ()
    stored: bool = False  # the registry has it: what only a new one has to keep to is not asked of it

    @property
    def size(self) -> int:
        return len(self.text) + sum(len(each.text) for each in self.references)


class Parser:
    """May be used by several threads."""

    def __init__(self, max_bytes: int = REGISTRY_PARSED_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._parsed: dict[Source, ParsedSchema] = {}
        self._texts: dict[tuple[Source, bool], str] = {}

    def parse(self, source: Source) -> ParsedSchema:
        found = self._parsed.pop(source, None)
        is_new = found is None
        if found is None:
            try:
                found = parse(source.type, source.text, source.references, stored=source.stored)
            except InvalidSchema as problem:
                raise invalid_schema(f"Invalid schema of type {source.type}, details: {problem}") from None
        self._parsed[source] = found  # the last one used is the last one dropped
        if is_new:
            self._bytes += _cost(source)
            if self._bytes > self._max_bytes:
                self._drop_old()
        return found

    def _drop_old(self) -> None:
        """Half of it, and counts anew: two threads may have parsed the same."""
        kept: dict[Source, ParsedSchema] = {}
        size = 0
        for source, parsed in reversed([*self._parsed.items()]):
            size += _cost(source)
            if kept and size > self._max_bytes // 2:
                break
            kept[source] = parsed
        self._parsed = dict(reversed(kept.items()))
        self._texts = {key: text for key, text in [*self._texts.items()] if key[0] in kept}
        self._bytes = sum(map(_cost, kept))

    def text(self, source: Source, *, normalize: bool) -> str:
        """As it is stored."""
        parsed = self.parse(source)
        found = self._texts.get((source, normalize))
        if found is None:
            try:
                found = parsed.normalized() if normalize else parsed.canonical()
            except InvalidSchema as problem:
                raise invalid_schema(f"Invalid schema of type {source.type}, details: {problem}") from None
            self._texts[source, normalize] = found
        return found

    def knows(self, source: Source, *, normalize: bool) -> bool:
        """Whether `text` costs next to nothing."""
        return (source, normalize) in self._texts


def _cost(source: Source) -> int:
    return _LEAST_BYTES + _TIMES_TEXT * source.size


def type_named(name: str | None) -> SchemaType:
    wanted = name or "AVRO"
    found = next((each for each in SCHEMA_TYPES if each == wanted.upper()), None)
    if found is None:
        raise invalid_schema(f"Invalid schema type {wanted[:100]}")
    return found


def concrete(contents: Contents, subject: str, references: Sequence[Reference] | None) -> tuple[Reference, ...]:
    """With the version that is the latest now in place of -1."""
    if len(references or ()) > SCHEMA_REFERENCES_MAX:
        raise invalid_schema(f"Invalid schema, details: it has more than {SCHEMA_REFERENCES_MAX} references")
    return tuple(
        each
        if each.version != questions.LATEST
        else Reference(each.name, each.subject, _referenced(contents, subject, each).version)
        for each in references or ()
    )


def resolved(contents: Contents, subject: str, references: Sequence[Reference]) -> tuple[ReferencedSchema, ...]:
    """Everything that is referred to, directly or not, in an order in which it can be parsed; each name once."""
    found: dict[str, ReferencedSchema] = {}
    waiting = [(subject, each, False) for each in reversed(references)]
    opened: set[str] = set()
    size = 0
    while waiting:
        parent, reference, is_ready = waiting.pop()
        if reference.name in found:
            continue
        stored = _referenced(contents, parent, reference)
        if is_ready:
            found[reference.name] = ReferencedSchema(reference.name, stored.content.text)
            continue
        if reference.name in opened:
            continue  # it is being resolved: a circle, or named twice
        opened.add(reference.name)
        size += len(stored.content.text)
        if len(opened) > SCHEMA_REFERENCES_MAX or size > SCHEMA_MAX_BYTES * 4:
            raise invalid_schema(
                f"Invalid schema, details: it refers to more than {SCHEMA_REFERENCES_MAX} schemas, or to too much text"
            )
        waiting.append((parent, reference, True))
        waiting.extend((stored.subject, each, False) for each in reversed(stored.content.references))
    return tuple(found.values())


def _referenced(contents: Contents, parent: str, reference: Reference) -> Stored:
    where = names.in_context_of(parent, reference.subject)
    stored = questions.find_version(contents, where, reference.version, "all")
    if stored is None:
        raise invalid_schema(
            f'Invalid schema, details: No schema reference found for subject "{reference.subject}" and version'
            f" {reference.version}"
        )
    return stored


def source_of(contents: Contents, stored: Stored) -> Source:
    content = stored.content
    return Source(content.type, content.text, resolved(contents, stored.subject, content.references), stored=True)

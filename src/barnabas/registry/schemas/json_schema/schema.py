"""A JSON Schema, parsed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from barnabas.model.json_values import Json
from barnabas.registry.schemas.json_schema.compare import Comparison
from barnabas.registry.schemas.json_schema.keywords import draft_of
from barnabas.registry.schemas.json_schema.loader import Loader
from barnabas.registry.schemas.json_schema.node import Node
from barnabas.registry.schemas.json_text import TextReader, sorted_keys, written
from barnabas.registry.schemas.parsed import Incompatibility, InvalidSchema, ParsedSchema, ReferencedSchema


class JsonSchema:
    def __init__(self, document: Json, root: Node, references: Sequence[ReferencedSchema]) -> None:
        self.root = root
        self._document = document
        self._references = references

    @cached_property
    def _canonical(self) -> str:
        return written(self._document)

    def canonical(self) -> str:
        return self._canonical

    def normalized(self) -> str:
        return written(sorted_keys(self._document))

    def formatted(self, format: str) -> str:
        """Resolved: the documents that are referred to stand among the definitions, by the names that `$ref` has."""
        if format != "resolved" or not self._references or not isinstance(self._document, dict):
            return self._canonical
        draft = draft_of(self._document)
        keyword, name = "$defs" if draft >= 2019 else "definitions", "id" if draft == 4 else "$id"
        definitions = dict(self._document.get(keyword, {}))
        reader = TextReader()
        for each in self._references:
            value = reader.read(each.text, each.name, exact=True)
            definitions[each.name] = {name: each.name, **value} if isinstance(value, dict) else value
        return written({**self._document, keyword: definitions})

    def unreadable(self, writer: ParsedSchema) -> Sequence[Incompatibility]:
        if not isinstance(writer, JsonSchema):
            raise InvalidSchema("the other schema is not of type JSON")
        if self._canonical == writer._canonical and self._references == writer._references:
            return ()  # whatever it takes to see that
        return Comparison().unreadable(self.root, writer.root)


def parse(text: str, references: Sequence[ReferencedSchema] = (), *, stored: bool = False) -> JsonSchema:
    """The schema that `text` describes; InvalidSchema where it describes none. `stored`: it is in the registry
    already; a `$ref` that leads nowhere then accepts anything."""
    document, root = Loader(stored).load(text, references)
    return JsonSchema(document, root, tuple(references))

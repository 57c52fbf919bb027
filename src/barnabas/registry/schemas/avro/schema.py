"""An Avro schema, parsed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from barnabas.registry.schemas.avro.parser import parse_types
from barnabas.registry.schemas.avro.resolution import Resolution
from barnabas.registry.schemas.avro.types import Type
from barnabas.registry.schemas.avro.writer import text_of
from barnabas.registry.schemas.parsed import Incompatibility, InvalidSchema, ParsedSchema, ReferencedSchema


class AvroSchema:
    def __init__(self, type_: Type, known: tuple[str, ...]) -> None:
        self.type = type_
        self._known = known  # full names that references define

    @cached_property
    def _canonical(self) -> str:
        return text_of(self.type, self._known)

    def canonical(self) -> str:
        return self._canonical

    def normalized(self) -> str:
        return text_of(self.type, self._known, normal=True)

    def formatted(self, format: str) -> str:
        return text_of(self.type) if format == "resolved" else self._canonical

    def unreadable(self, writer: ParsedSchema) -> Sequence[Incompatibility]:
        if not isinstance(writer, AvroSchema):
            raise InvalidSchema("the other schema is not of type AVRO")
        if self.type is writer.type:
            return ()
        return Resolution().unreadable(self.type, writer.type)


def parse(text: str, references: Sequence[ReferencedSchema] = (), *, stored: bool = False) -> AvroSchema:
    """The schema that `text` describes; InvalidSchema where it describes none. `stored`: it is in the registry
    already, and was taken by the rules of its time."""
    type_, known = parse_types(text, references, stored)
    return AvroSchema(type_, known)

"""What the three formats have in common. Each has a folder with `parse(text, references) -> ParsedSchema`.

Pure and bounded: parsing and comparing take time that grows with the text at most linearly times a small factor,
stop at the limits of model/limits.py, and raise nothing but InvalidSchema.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

SchemaType = Literal["AVRO", "JSON", "PROTOBUF"]


class InvalidSchema(Exception):
    """One line for the user: what is wrong with the text, and where."""


@dataclass(frozen=True, slots=True)
class ReferencedSchema:
    """A schema that the text names. All that it needs itself stands before it: references come in the order in which
    they can be parsed, each once, however many of the others name it."""

    name: str  # as the text says it: a full name in Avro, a URL in JSON Schema, an import's path in Protobuf
    text: str


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """Why data of the writer's schema cannot be read with the reader's."""

    kind: str  # Confluent's word for it, such as READER_FIELD_MISSING_DEFAULT_VALUE
    path: str  # where in the reader's schema: /fields/3/type, #/properties/price, #/Order/3
    message: str  # in words, for a person


class ParsedSchema(Protocol):
    def canonical(self) -> str:
        """The text that is stored and compared: the same schema with other white space gives the same text."""

    def normalized(self) -> str:
        """As `normalize=true` stores it: also the order of what has no order, and defaults that are said."""

    def formatted(self, format: str) -> str:
        """As `format=` of a request asks; an unknown format gives the canonical text, as Confluent's does.
        AVRO: resolved (references put in place). PROTOBUF: serialized (FileDescriptorProto in base64),
        ignore_extensions. JSON: resolved."""

    def unreadable(self, writer: ParsedSchema) -> Sequence[Incompatibility]:
        """Why this schema, as the reader's, cannot read data of `writer`, which is of the same format; empty: it can.
        At most INCOMPATIBILITIES_MAX of them."""

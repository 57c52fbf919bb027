"""A stored schema and what belongs to it. The GUID is Confluent's: MD5 of all that makes a schema what it is."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec

from barnabas.registry.schemas.parsed import SchemaType

Mode = Literal["READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD"]
MODES: tuple[Mode, ...] = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD")
READ_ONLY: tuple[Mode, ...] = ("READONLY", "READONLY_OVERRIDE")
IMPORTING: tuple[Mode, ...] = ("IMPORT", "FORWARD")  # schemas come with their ids
LEVELS = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)
NUMBER_MAX = 2**31 - 1  # of ids and versions: clients have 32 bits for them
DEFAULT_LEVEL = "BACKWARD"
VERSION_PROPERTY = "confluent:version"  # of metadata: the version that a client wants to make


class Reference(msgspec.Struct, frozen=True):
    """`name` is how the text says it; `subject` and `version` are where it is registered."""

    name: str
    subject: str
    version: int


class Metadata(msgspec.Struct, frozen=True, omit_defaults=True):
    tags: dict[str, list[str]] | None = None
    properties: dict[str, str] | None = None
    sensitive: list[str] | None = None


class Rule(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    name: str | None = None
    doc: str | None = None
    kind: str | None = None
    mode: str | None = None
    type: str | None = None
    tags: list[str] | None = None
    params: dict[str, str] | None = None
    expr: str | None = None
    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool | None = None


class RuleSet(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    migration_rules: list[Rule] | None = None
    domain_rules: list[Rule] | None = None
    encoding_rules: list[Rule] | None = None
    enable_at: str | None = None


class Config(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Of a subject, a context, or everything. What is None is not said here."""

    alias: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    validate_names: bool | None = None
    compatibility_level: str | None = None
    compatibility_policy: str | None = None
    compatibility_group: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None

    @property
    def adds_something(self) -> bool:
        """Whether a schema is stored with more than what was sent."""
        return any((self.default_metadata, self.override_metadata, self.default_rule_set, self.override_rule_set))


@dataclass(frozen=True, slots=True)
class Content:
    """What an id stands for."""

    type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """One version of a subject."""

    subject: str
    version: int
    id: int
    content: Content
    hash: bytes
    deleted: bool
    timestamp: int

    @property
    def guid(self) -> str:
        return guid_of(self.hash)


def hash_of(content: Content) -> bytes:
    found = hashlib.md5(content.text.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    for reference in content.references:
        found.update(reference.name.encode())
        found.update(reference.subject.encode())
        found.update((reference.version & 0xFFFFFFFF).to_bytes(4))
    for part in (content.metadata, content.rule_set):
        if part is not None:
            found.update(b"\1")  # so that an empty one differs from none
            for text in _words(part):
                found.update(text.encode())
    return found.digest()


def guid_of(hash: bytes) -> str:
    return str(uuid.UUID(bytes=hash))


def _words(part: Metadata | RuleSet) -> Iterator[str]:
    if isinstance(part, Metadata):
        for name, tags in sorted((part.tags or {}).items()):
            yield name
            yield from sorted(tags)
        for name, value in sorted((part.properties or {}).items()):
            yield name
            yield value
        yield from sorted(part.sensitive or ())
        return
    for rule in (*(part.migration_rules or ()), *(part.domain_rules or ()), *(part.encoding_rules or ())):
        yield from (each for each in (rule.name, rule.doc, rule.kind, rule.mode, rule.type) if each is not None)
        yield from sorted(rule.tags or ())
        for name, value in sorted((rule.params or {}).items()):
            yield name
            yield value
        yield from (each for each in (rule.expr, rule.on_success, rule.on_failure) if each is not None)
        if rule.disabled:
            yield "true"

"""Entities as JSON, as Confluent's registry of version 8 writes them."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from barnabas.registry.state import names
from barnabas.registry.state.values import Reference, Stored

JSON = b"application/vnd.schemaregistry.v1+json"
KINDS = (JSON, b"application/vnd.schemaregistry+json", b"application/json")
encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is JSON already."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = field(default=())


def entity(stored: Stored, text: str | None = None, *, qualified: bool = False) -> dict[str, object]:
    """A version of a subject."""
    return {"subject": stored.subject, "version": stored.version, "id": stored.id, **_schema(stored, text, qualified)}


def registered(stored: Stored) -> dict[str, object]:
    return {"id": stored.id, "version": stored.version, **_schema(stored, None, False)}


def by_id(
    stored: Stored, text: str | None, *, with_subject: bool, max_id: int | None, qualified: bool
) -> dict[str, object]:
    """Where no subject was asked for, none is named: it may be one of many."""
    found = {"subject": stored.subject, "version": stored.version} if with_subject else {}
    told: dict[str, object] = {**found, **_schema(stored, text, qualified)}
    if max_id is not None:
        told["maxId"] = max_id
    return told


def _schema(stored: Stored, text: str | None, qualified: bool) -> dict[str, object]:
    content = stored.content
    told: dict[str, object] = {"guid": stored.guid, "schemaType": content.type}
    if content.references:
        told["references"] = [_reference(stored, each, qualified) for each in content.references]
    if content.metadata is not None:
        told["metadata"] = content.metadata
    if content.rule_set is not None:
        told["ruleSet"] = content.rule_set
    told["schema"] = content.text if text is None else text
    if stored.timestamp > 0:
        told["ts"] = stored.timestamp
    told["deleted"] = stored.deleted
    return told


def _reference(stored: Stored, reference: Reference, qualified: bool) -> Reference:
    if not qualified:
        return reference
    return Reference(reference.name, names.in_context_of(stored.subject, reference.subject), reference.version)

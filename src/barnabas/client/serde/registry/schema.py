"""A schema as a registry has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from barnabas.client.errors import RegistryError
from barnabas.client.serde.registry.connection import Json

SchemaType = Literal["AVRO", "JSON", "PROTOBUF"]
TYPES: tuple[SchemaType, ...] = ("AVRO", "JSON", "PROTOBUF")


@dataclass(frozen=True, slots=True)
class Reference:
    """Another schema that a text names."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()

    def body(self) -> dict[str, object]:
        """As a request says it. AVRO is what a registry takes it for anyway, the first ones included."""
        said: dict[str, object] = {"schema": self.text}
        if self.type != "AVRO":
            said["schemaType"] = self.type
        if self.references:
            said["references"] = [
                {"name": each.name, "subject": each.subject, "version": each.version} for each in self.references
            ]
        return said


@dataclass(frozen=True, slots=True)
class Registered:
    """A schema with what the registry knows it by; an empty text is what it was not told."""

    schema: Schema
    id: int
    guid: str = ""
    subject: str = ""
    version: int = 0


def schema_of(answer: Json, doing: str, expected: Schema | None = None) -> Schema:
    """What an answer says of a schema; `expected` for answers that leave out what was asked with."""
    table = table_of(answer, doing)
    text, kind, named = table.get("schema"), table.get("schemaType", "AVRO"), table.get("references")
    if text is None and expected is not None:
        return expected
    if not isinstance(text, str) or kind not in TYPES:
        raise RegistryError(f"{doing}: the registry's answer has no schema that is known here", 200, 0)
    references = tuple(_reference(each, doing) for each in named) if isinstance(named, list) else ()
    return Schema(kind, text, references)


def registered_of(answer: Json, doing: str, expected: Schema | None = None) -> Registered:
    table = table_of(answer, doing)
    number, guid, subject, version = (table.get(name) for name in ("id", "guid", "subject", "version"))
    if not isinstance(number, int):
        raise RegistryError(f"{doing}: the registry's answer has no id", 200, 0)
    return Registered(
        schema_of(answer, doing, expected),
        number,
        guid if isinstance(guid, str) else "",
        subject if isinstance(subject, str) else "",
        version if isinstance(version, int) else 0,
    )


def table_of(answer: Json, doing: str) -> Mapping[str, Json]:
    if not isinstance(answer, dict):
        raise RegistryError(f"{doing}: what answers is no schema registry", 200, 0)
    return answer


def _reference(told: Json, doing: str) -> Reference:
    table = table_of(told, doing)
    name, subject, version = table.get("name"), table.get("subject"), table.get("version")
    if not (isinstance(name, str) and isinstance(subject, str) and isinstance(version, int)):
        raise RegistryError(f"{doing}: the registry's answer has a reference without name, subject or version", 200, 0)
    return Reference(name, subject, version)

"""Schemas of the cluster's registry: subjects, versions, what changed, and whether a new one may follow.

The registry decides what a person may see and do, by their own login; a role that is read-only may not register.
Subjects are named in the query: they may have slashes.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from barnabas.client.errors import RegistryError
from barnabas.client.serde.registry.reasons import reasons
from barnabas.client.serde.registry.registry import Registry
from barnabas.client.serde.registry.schema import Reference, Registered, Schema
from barnabas.console.problems import Problem
from barnabas.console.web.calls import Call, Route
from barnabas.operate.schemas.changes import changes, line_by_line, pretty

LEVELS = (
    "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE", "NONE",
)  # fmt: skip
_LINES_MAX = 5_000  # of a difference


class _Reference(msgspec.Struct):
    name: str
    subject: str
    version: int


class _New(msgspec.Struct):
    subject: str
    type: Literal["AVRO", "JSON", "PROTOBUF"]
    schema: str
    references: list[_Reference] = []

    def made(self) -> Schema:
        named = tuple(Reference(each.name, each.subject, each.version) for each in self.references)
        return Schema(self.type, self.schema, named)


class _Level(msgspec.Struct):
    subject: str
    level: str


async def schemas(call: Call) -> object:
    if call.connection.schemas.url is None:
        return {"registry": None, "level": None, "subjects": []}

    def found(registry: Registry) -> object:
        rows = registry.newest()
        named = [
            {"subject": each.subject, "version": each.version, "id": each.id, "type": each.schema.type} for each in rows
        ]
        return {"registry": str(registry), "level": registry.level(), "subjects": named}

    return await call.connection.schemas.ask(found)


async def one_subject(call: Call) -> object:
    name, version = _name(call), call.number("version", 0, 0, 2**31 - 1)

    def found(registry: Registry) -> object:
        shown = registry.version(name, version or "latest")
        return {
            **_told(shown),
            "versions": registry.versions(name),
            "level": registry.level(name),
            "levels": LEVELS,
            "referenced_by": registry.referenced_by(name, shown.version),
        }

    return await call.connection.schemas.ask(found)


async def difference(call: Call) -> object:
    name = _name(call)
    first, second = call.number("old", 1, 1, 2**31 - 1), call.number("new", 1, 1, 2**31 - 1)

    def found(registry: Registry) -> object:
        old, new = registry.version(name, first), registry.version(name, second)
        lines = line_by_line(*((each.schema.type, each.schema.text) for each in (old, new)))
        return {"changes": _words(registry, old, new), "lines": lines[:_LINES_MAX]}

    return await call.connection.schemas.ask(found)


async def check(call: Call) -> object:
    new = await call.body(_New)
    call.names.append(new.subject)

    def found(registry: Registry) -> object:
        try:
            level = registry.level(new.subject)
            good, messages = registry.check(new.subject, new.made(), None)
        except RegistryError as error:
            if error.status != 422:
                raise
            return {"compatible": False, "level": "", "reasons": [{"path": "", "text": str(error)}]}
        why = [{"path": each.path, "text": each.text} for each in reasons(messages)]
        return {"compatible": good, "level": level, "reasons": why}

    return await call.connection.schemas.ask(found)


async def register(call: Call) -> object:
    new = await call.body(_New)
    if not new.subject:
        raise Problem("a subject has a name")
    call.names.append(new.subject)

    def made(registry: Registry) -> object:
        schema = new.made()
        found = registry.register(new.subject, schema)
        found = found if found.version else registry.lookup(new.subject, schema)
        return {"subject": new.subject, "version": found.version, "id": found.id}

    return await call.connection.schemas.ask(made)


async def set_level(call: Call) -> object:
    wanted = await call.body(_Level)
    if wanted.level not in LEVELS:
        raise Problem(f"a compatibility level is one of {', '.join(LEVELS)}")
    call.names += [wanted.subject, wanted.level]
    return {
        "level": await call.connection.schemas.ask(lambda registry: registry.set_level(wanted.level, wanted.subject))
    }


def _name(call: Call) -> str:
    name = call.text("name")
    if not name:
        raise Problem("which subject? Its name is missing")
    return name


def _told(found: Registered) -> dict[str, object]:
    return {
        "subject": found.subject,
        "version": found.version,
        "id": found.id,
        "guid": found.guid,
        "type": found.schema.type,
        "text": pretty(found.schema.type, found.schema.text),
        "references": [
            {"name": each.name, "subject": each.subject, "version": each.version} for each in found.schema.references
        ],
    }


def _words(registry: Registry, old: Registered, new: Registered) -> list[str]:
    if old.schema.type != new.schema.type:
        return [f"the type {old.schema.type} became {new.schema.type}"]
    texts = [old.schema.text, new.schema.text]
    if old.schema.type == "PROTOBUF":
        texts = [registry.version(each.subject, each.version, format="serialized").schema.text for each in (old, new)]
    return changes(old.schema.type, *texts)


ROUTES = [
    Route("GET", "/schemas", schemas),
    Route("GET", "/schemas/subject", one_subject),
    Route("GET", "/schemas/difference", difference),
    Route("POST", "/schemas/check", check, change="check a schema"),
    Route("POST", "/schemas/register", register, change="register a schema"),
    Route("POST", "/schemas/level", set_level, change="set a compatibility level"),
]

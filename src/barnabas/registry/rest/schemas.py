"""/schemas: by id, by GUID, and all of them."""

from __future__ import annotations

import uuid

from barnabas.model.limits import REGISTRY_SCHEMAS_LISTED_MAX
from barnabas.registry.errors import RegistryError, no_schema
from barnabas.registry.rest import answers
from barnabas.registry.rest.allowing import may_see, seen_by_id
from barnabas.registry.rest.request import Request, id_named, subject_named
from barnabas.registry.rest.service import Service
from barnabas.registry.rest.subjects import qualified
from barnabas.registry.schemas.formats import SCHEMA_TYPES
from barnabas.registry.state import names, questions
from barnabas.registry.state.values import Stored

_LISTED_BYTES = 16 * 1024 * 1024  # of texts in one answer, then it ends; the next page goes on


async def list_types(service: Service, request: Request) -> object:
    return list(SCHEMA_TYPES)


async def list_schemas(service: Service, request: Request) -> object:
    """Those that the user may read."""
    prefix = request.text("subjectPrefix", names.EVERY_CONTEXT)
    rule_types = set(request.query.get("ruleType", ()))
    which: questions.Which = "all" if request.flag("deleted") else "live"
    latest_only = request.flag("latestOnly")

    def listed(subject: str) -> list[Stored]:
        if not may_see(request, subject):
            return []
        found = questions.versions_of(service.contents, subject, which)
        found = found[-1:] if latest_only else found
        return [each for each in found if _has_rule(each, rule_types)] if rule_types else found

    every = questions.with_prefix(service.contents, prefix)
    page = await service.some(map(listed, every), request.page(REGISTRY_SCHEMAS_LISTED_MAX))
    aliases = _aliases(service, request) if request.flag("aliases") else {}
    found: list[object] = []
    size = 0
    for stored in page:
        size += len(stored.content.text)
        if size > _LISTED_BYTES and found:
            break
        told = answers.entity(stored)
        if stored.subject in aliases:
            told["aliases"] = aliases[stored.subject]
        found.append(told)
    return found


def _aliases(service: Service, request: Request) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for subject, config in service.contents.configs.items():
        if subject is not None and config.alias and may_see(request, subject):
            found.setdefault(names.in_context_of(subject, config.alias), []).append(subject)
    return found


def _has_rule(stored: Stored, types: set[str]) -> bool:
    rules = stored.content.rule_set
    if rules is None:
        return False
    every = (*(rules.migration_rules or ()), *(rules.domain_rules or ()), *(rules.encoding_rules or ()))
    return any(each.type in types for each in every)


async def find_id(service: Service, request: Request, id: str) -> Stored:
    number = id_named(id)
    told = request.text("subject")
    subject = service.real_subject(subject_named(told)) if told and names.split(told)[1] else told or None

    def look() -> Stored:
        found = questions.by_id(service.contents, number, subject)
        if found is None:
            raise no_schema(number)
        return found

    return seen_by_id(service, request, await service.found(look))


async def get_by_id(service: Service, request: Request, id: str) -> object:
    stored = await find_id(service, request, id)
    max_id = questions.context(service.contents, stored.subject).max_id if request.flag("fetchMaxId") else None
    return answers.by_id(
        stored,
        await service.formatted(stored, request.text("format")),
        with_subject=bool(request.text("subject")),
        max_id=max_id,
        qualified=qualified(request),
    )


async def get_schema_by_id(service: Service, request: Request, id: str) -> object:
    stored = await find_id(service, request, id)
    text = await service.formatted(stored, request.text("format"))
    return answers.Answer(200, (stored.content.text if text is None else text).encode("utf-8", "replace"))


async def get_subjects_by_id(service: Service, request: Request, id: str) -> object:
    stored = await find_id(service, request, id)
    found = _seen(service, request, stored)
    return list(dict.fromkeys(each.subject for each in found))[request.page()]


async def get_versions_by_id(service: Service, request: Request, id: str) -> object:
    stored = await find_id(service, request, id)
    found = _seen(service, request, stored)
    return [{"subject": each.subject, "version": each.version} for each in found][request.page()]


def _seen(service: Service, request: Request, stored: Stored) -> list[Stored]:
    """All with its id that the user may read."""
    which: questions.Which = "all" if request.flag("deleted") else "live"
    return [each for each in questions.same_id(service.contents, stored, which) if may_see(request, each.subject)]


async def _find_guid(service: Service, request: Request, guid: str) -> list[tuple[str, Stored]]:
    try:
        hash = uuid.UUID(guid).bytes
    except ValueError:
        raise no_schema(guid[:100]) from None

    def look() -> list[tuple[str, Stored]]:
        found = questions.by_guid(service.contents, hash)
        if not found:
            raise no_schema(guid)
        return found

    found = await service.found(look)
    seen: list[tuple[str, Stored]] = []
    for context, stored in found:
        try:
            seen.append((context, seen_by_id(service, request, stored)))
        except RegistryError:
            if (context, stored) == found[-1] and not seen:
                raise
    return seen


async def get_by_guid(service: Service, request: Request, guid: str) -> object:
    stored = (await _find_guid(service, request, guid))[0][1]
    text = await service.formatted(stored, request.text("format"))
    return answers.by_id(stored, text, with_subject=False, max_id=None, qualified=qualified(request))


async def get_ids_by_guid(service: Service, request: Request, guid: str) -> object:
    return [{"context": context, "id": stored.id} for context, stored in await _find_guid(service, request, guid)]

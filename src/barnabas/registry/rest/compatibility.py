"""/compatibility: would a schema be taken? Nothing is registered."""

from __future__ import annotations

from dataclasses import replace

from barnabas.registry.errors import no_version
from barnabas.registry.rest.allowing import READ, allowed, check_references
from barnabas.registry.rest.request import Request, version_named
from barnabas.registry.rest.service import Service
from barnabas.registry.state import questions
from barnabas.registry.state.deciding import registering
from barnabas.registry.state.deciding.comparing import Earlier
from barnabas.registry.state.deciding.registering import SchemaRequest
from barnabas.registry.state.parsing import source_of
from barnabas.registry.state.values import Stored


async def with_version(service: Service, request: Request, subject: str, version: str) -> object:
    """With one version, however many the level would compare."""
    subject = allowed(service, request, subject, READ)
    number = version_named(version)

    def look() -> Stored | None:
        found = questions.version_of(service.contents, subject, number)
        if found is None and number != questions.LATEST:
            raise no_version(number)
        return found

    stored = await service.found(look)
    return await _checked(service, request, subject, [] if stored is None else [stored])


async def with_all(service: Service, request: Request, subject: str) -> object:
    """With as many as the level says."""
    subject = allowed(service, request, subject, READ)
    return await _checked(service, request, subject, questions.versions_of(service.contents, subject))


async def _checked(service: Service, request: Request, subject: str, before: list[Stored]) -> object:
    body = request.json(SchemaRequest)
    check_references(request, subject, body.references)
    contents = service.contents
    wanted = registering.want(
        contents, subject, body, normalize=request.flag("normalize"), populate=False, compare=False, is_new=True
    )
    level = wanted.config.compatibility_level or ""
    if not level.endswith("_TRANSITIVE") and not wanted.config.compatibility_group:
        before = before[-1:]
    if level == "NONE":
        before = []
    earlier = tuple(Earlier(each.version, each.content, source_of(contents, each)) for each in before)
    checked = await service.checked(replace(wanted, earlier=earlier), compare=True)
    answer: dict[str, object] = {"is_compatible": not checked.problems}
    if request.flag("verbose"):
        answer["messages"] = list(checked.problems)
    return answer

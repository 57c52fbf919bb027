"""/subjects: what is registered under which name; register, look up, delete."""

from __future__ import annotations

from barnabas.registry.errors import RegistryError, invalid_rules, no_schema, no_subject, no_version
from barnabas.registry.rest import answers
from barnabas.registry.rest.allowing import DELETE, READ, WRITE, allowed, check_references, may_see
from barnabas.registry.rest.changing import Decide, Stale, alone, change
from barnabas.registry.rest.request import Request, version_named
from barnabas.registry.rest.service import Service
from barnabas.registry.state import names, questions
from barnabas.registry.state.contents import Contents
from barnabas.registry.state.deciding import deleting, registering
from barnabas.registry.state.deciding.decision import Batch, Decision
from barnabas.registry.state.deciding.registering import SchemaRequest
from barnabas.registry.state.values import RuleSet, Stored


async def list_subjects(service: Service, request: Request) -> object:
    """Those that the user may read."""
    prefix = request.text("subjectPrefix", names.EVERY_CONTEXT)
    which = request.which

    def listed(subject: str) -> bool:
        return questions.is_listed(service.contents, subject, which) and may_see(request, subject)

    found = questions.with_prefix(service.contents, prefix)
    return await service.some(([each] if listed(each) else [] for each in found), request.page())


async def list_versions(service: Service, request: Request, subject: str) -> object:
    subject = allowed(service, request, subject, READ)

    def look() -> list[int]:
        if not questions.has_subject(service.contents, subject, "live" if request.which == "live" else "all"):
            raise no_subject(subject)
        return [each.version for each in questions.versions_of(service.contents, subject, request.which)]

    return (await service.found(look))[request.page()]


async def get_version(service: Service, request: Request, subject: str, version: str) -> object:
    stored = await find_version(service, request, subject, version)
    text = await service.formatted(stored, request.text("format"))
    return answers.entity(stored, text, qualified=qualified(request))


async def get_version_schema(service: Service, request: Request, subject: str, version: str) -> object:
    stored = await find_version(service, request, subject, version)
    text = await service.formatted(stored, request.text("format"))
    return answers.Answer(200, (stored.content.text if text is None else text).encode("utf-8", "replace"))


async def get_referenced_by(service: Service, request: Request, subject: str, version: str) -> object:
    request.query["deleted"] = ["true"]
    stored = await find_version(service, request, subject, version)
    return questions.referenced_by(service.contents, stored)[request.page()]


async def get_with_metadata(service: Service, request: Request, subject: str) -> object:
    """The newest version whose metadata have all that is asked for."""
    subject = allowed(service, request, subject, READ)
    wanted = dict(zip(request.query.get("key", ()), request.query.get("value", ()), strict=False))

    def look() -> Stored:
        if not questions.has_subject(service.contents, subject, "all" if request.flag("deleted") else "live"):
            raise no_subject(subject)
        which: questions.Which = "all" if request.flag("deleted") else "live"
        for stored in reversed(questions.versions_of(service.contents, subject, which)):
            metadata = stored.content.metadata
            if metadata is not None and wanted.items() <= (metadata.properties or {}).items():
                return stored
        raise no_schema()

    stored = await service.found(look)
    return answers.entity(stored, await service.formatted(stored, request.text("format")))


async def look_up(service: Service, request: Request, subject: str) -> object:
    """Is this schema registered here, and as which version?"""
    subject = allowed(service, request, subject, READ)
    body = request.json(SchemaRequest)
    check_references(request, subject, body.references)
    which: questions.Which = "all" if request.flag("deleted", "lookupDeletedSchema") else "live"
    stored = await _looked_up(service, request, subject, body, which)
    if stored is None:
        await service.store.reader.catch_up()
        stored = await _looked_up(service, request, subject, body, which)
    if stored is None:
        raise no_schema() if questions.has_subject(service.contents, subject, which) else no_subject(subject)
    return answers.entity(stored, await service.formatted(stored, request.text("format")))


async def _looked_up(
    service: Service, request: Request, subject: str, body: SchemaRequest, which: questions.Which
) -> Stored | None:
    for each in _places(service, subject):
        if not questions.has_subject(service.contents, each, which):
            continue
        for populate in (False, True):  # as it is sent, and as a registration would store it
            try:
                wanted = registering.want(
                    service.contents, each, body, normalize=request.flag("normalize"), populate=populate, compare=False
                )
                checked = await service.checked(wanted)
            except RegistryError:
                if each == subject:
                    raise
                continue
            if (found := registering.existing(service.contents, each, checked, which)) is not None:
                return found
    return None


def _places(service: Service, subject: str) -> list[str]:
    return list(questions.also_elsewhere(service.contents, subject))


async def register(service: Service, request: Request, subject: str) -> object:
    subject = allowed(service, request, subject, WRITE, to_write=True)
    body = request.json(SchemaRequest)
    check_references(request, subject, body.references)
    if body.rule_set is not None:
        check_rules(body.rule_set)
    if (found := await _registered_already(service, request, subject, body)) is not None:
        return answers.registered(found)

    async def prepare() -> Decide:
        wanted = registering.want(
            service.contents,
            subject,
            body,
            normalize=request.flag("normalize"),
            populate=True,
            compare=True,
            is_new=True,
        )
        checked = await service.checked(wanted, compare=True)

        def decide(contents: Contents, batch: Batch) -> Decision:
            if registering.is_stale(contents, wanted):
                raise Stale
            return registering.decide(contents, wanted, checked, batch)

        return decide

    def shown(answer: object) -> object:
        assert isinstance(answer, Stored)
        applied = questions.version_of(service.contents, subject, answer.version, "all")
        return answers.registered(applied or answer)  # with the time of its record

    return await change(service, request, prepare, shown, together=True)


async def _registered_already(service: Service, request: Request, subject: str, body: SchemaRequest) -> Stored | None:
    """Then nothing has to be written, and any instance answers."""
    if not (body.schema or "").strip() or body.version not in (None, 0):
        return None
    if questions.config_in_scope(service.contents, subject).adds_something:
        return None
    for again in (False, True):
        try:
            wanted = registering.want(
                service.contents, subject, body, normalize=request.flag("normalize"), populate=False, compare=False
            )
            found = registering.existing(service.contents, subject, await service.checked(wanted))
            return found if found is not None and (body.id is None or body.id in (-1, found.id)) else None
        except RegistryError:
            if again or not body.references:
                raise
            await service.store.reader.catch_up()  # what it refers to may be new
    return None


def check_rules(rules: RuleSet) -> None:
    named: set[str] = set()
    for rule in (*(rules.migration_rules or ()), *(rules.domain_rules or ()), *(rules.encoding_rules or ())):
        if not rule.name:
            raise invalid_rules("Missing rule name")
        if rule.name in named:
            raise invalid_rules(f"Found rule with duplicate name '{rule.name}'")
        named.add(rule.name)
    for rule in rules.migration_rules or ():
        if rule.mode not in (None, "UPGRADE", "DOWNGRADE", "UPDOWN"):
            raise invalid_rules("Migration rules can only be UPGRADE, DOWNGRADE, UPDOWN")
    for rule in (*(rules.domain_rules or ()), *(rules.encoding_rules or ())):
        if rule.mode not in (None, "WRITE", "READ", "WRITEREAD"):
            raise invalid_rules("Domain rules can only be WRITE, READ, WRITEREAD")


async def delete_subject(service: Service, request: Request, subject: str) -> object:
    subject = allowed(service, request, subject, DELETE)
    permanent = request.flag("permanent")
    return await change(
        service, request, alone(lambda contents: deleting.delete_subject(contents, subject, permanent=permanent))
    )


async def delete_version(service: Service, request: Request, subject: str, version: str) -> object:
    subject = allowed(service, request, subject, DELETE)
    number = version_named(version)
    permanent = request.flag("permanent")
    return await change(
        service,
        request,
        alone(lambda contents: deleting.delete_version(contents, subject, number, version, permanent=permanent)),
    )


async def find_version(service: Service, request: Request, subject: str, version: str) -> Stored:
    subject = allowed(service, request, subject, READ)
    number = version_named(version)
    which: questions.Which = "all" if request.flag("deleted") else "live"
    if number == questions.LATEST:
        await service.fresh()

    def look() -> Stored:
        found = questions.find_version(service.contents, subject, number, which)
        if found is None:
            known = questions.has_subject(service.contents, subject, which)
            raise no_version(number) if known else no_subject(subject)
        return found

    return await service.found(look)


def qualified(request: Request) -> bool:
    return (request.text("referenceFormat") or request.text("reference_format")).lower() == "qualified"

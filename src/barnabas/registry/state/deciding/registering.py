"""A schema is registered: three steps, of which only the middle one takes long.

    wanted = want(...)     what is asked for, with all that has to be parsed and compared; looks at the contents
    checked = check(...)   parsed, brought to the form that is stored, compared; looks at nothing else
    decide(...)            the records; looks at the contents, which must not have changed meanwhile (`basis`)

The order is Confluent's. A schema that the subject has already is found before modes are looked at, so a client can
register what is there although the subject is read-only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from barnabas.model.limits import (
    REGISTRY_CONTEXTS_MAX,
    REGISTRY_TEXT_MAX_BYTES,
    REGISTRY_VERSIONS_MAX,
    SCHEMA_MAX_BYTES,
)
from barnabas.registry.errors import RegistryError, incompatible, invalid_schema, not_permitted, too_large
from barnabas.registry.state import merging, names, questions, records
from barnabas.registry.state.contents import Contents
from barnabas.registry.state.deciding.comparing import Earlier, incompatibilities
from barnabas.registry.state.deciding.decision import Batch, Decision
from barnabas.registry.state.parsing import Parser, Source, concrete, resolved, source_of, type_named
from barnabas.registry.state.values import (
    IMPORTING,
    NUMBER_MAX,
    READ_ONLY,
    Config,
    Content,
    Metadata,
    Mode,
    Reference,
    RuleSet,
    Stored,
    hash_of,
)

_RESOLVED = "resolved"


class SchemaRequest(msgspec.Struct, rename="camel"):
    """The body of a registration, a look-up and a compatibility check. Other fields are passed over."""

    schema: str | None = None
    schema_type: str | None = None
    references: list[Reference] | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    version: int | None = None
    id: int | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    subject: str
    content: Content  # its text as it was sent
    source: Source
    normalize: bool
    version: int  # 0: the next one; -1: the next one, and say so in the metadata
    id: int  # -1: any
    config: Config
    mode: Mode
    earlier: tuple[Earlier, ...]  # not deleted, ascending; only those that have to be compared have a source
    basis: object

    @property
    def is_import(self) -> bool:
        return self.mode in IMPORTING


@dataclass(frozen=True, slots=True)
class Checked:
    content: Content  # as it is stored
    hash: bytes
    same_as: tuple[int, ...] = ()  # versions that are the same schema with its references put in place
    problems: tuple[str, ...] = ()  # why it is not compatible


def basis(contents: Contents, subject: str) -> object:
    """Equal as long as a decision about the subject stays what it is."""
    return contents.changes.get(subject), contents.settings_changed


def is_stale(contents: Contents, wanted: Wanted) -> bool:
    """Whether the subject, the settings or what the schema refers to have changed since `want`."""
    if basis(contents, wanted.subject) != wanted.basis:
        return True
    if not wanted.content.references:
        return False
    try:
        return resolved(contents, wanted.subject, wanted.content.references) != wanted.source.references
    except RegistryError:  # deleted for good meanwhile
        return True


def want(
    contents: Contents,
    subject: str,
    request: SchemaRequest,
    *,
    normalize: bool,
    populate: bool,
    compare: bool,
    is_new: bool = False,
) -> Wanted:
    """`populate`: metadata, rules or even the text come from the configuration and from the version before. `is_new`:
    it is to be registered, not looked up."""
    config = questions.config_in_scope(contents, subject)
    mode = questions.mode_in_scope(contents, subject)
    live = questions.versions_of(contents, subject)
    metadata, rule_set = merging.tidy(request.metadata), request.rule_set
    text, type, references = request.schema or "", request.schema_type, request.references
    before = live[-1].content if live else None
    if populate and mode not in IMPORTING:
        if not text.strip() and before is not None:
            text, type, references = before.text, before.type, list(before.references)
        metadata, rule_set = merging.merged(config, metadata, rule_set, before)
        if request.version or merging.has_version(metadata):
            metadata = merging.with_version(metadata, _next_version(contents, subject))
    if not text.strip():
        raise invalid_schema("Empty schema")
    if len(text) > SCHEMA_MAX_BYTES:
        raise too_large(f"a schema has at most {SCHEMA_MAX_BYTES} bytes, this one has {len(text)}")
    for name, number in (("id", request.id), ("version", request.version)):
        if number is not None and number > NUMBER_MAX:
            raise invalid_schema(f"Invalid schema, details: its {name} is larger than {NUMBER_MAX}")
    named = concrete(contents, subject, references)
    content = Content(type_named(type), text, named, metadata, rule_set)
    return Wanted(
        subject,
        content,
        Source(content.type, text, resolved(contents, subject, named), stored=not is_new or mode in IMPORTING),
        normalize or bool(config.normalize),
        request.version or 0,
        -1 if request.id is None else request.id,
        config,
        mode,
        _earlier(contents, live, config) if compare and mode not in IMPORTING else (),
        basis(contents, subject),
    )


def _next_version(contents: Contents, subject: str) -> int:
    return max((each.version for each in questions.versions_of(contents, subject, "all")), default=0) + 1


def _earlier(contents: Contents, live: Sequence[Stored], config: Config) -> tuple[Earlier, ...]:
    level = config.compatibility_level or ""
    if level == "NONE":
        return ()
    kept = live if level.endswith("_TRANSITIVE") or config.compatibility_group else live[-1:]
    return tuple(Earlier(each.version, each.content, source_of(contents, each)) for each in kept)


def check(parser: Parser, wanted: Wanted, *, compare: bool) -> Checked:
    """May take long."""
    text = parser.text(wanted.source, normalize=wanted.normalize)
    content = replace(wanted.content, text=text)
    same: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()
    if compare:
        parsed = parser.parse(wanted.source)
        if not content.references:
            same = tuple(
                each.version
                for each in wanted.earlier
                if each.content.references
                and each.content.type == content.type
                and parser.parse(each.source).formatted(_RESOLVED) == text
            )
        problems = incompatibilities(parser, wanted.config, content, parsed, wanted.earlier)
    return Checked(content, hash_of(content), same, problems)


def existing(contents: Contents, subject: str, checked: Checked, which: questions.Which = "live") -> Stored | None:
    """The version of the subject that is this schema; also one whose metadata say which version it is, where these do
    not."""
    context = questions.context(contents, subject)
    id = context.ids.get(checked.hash)
    if id is not None:
        own = [
            each
            for (name, _), each in context.by_id.get(id, {}).items()
            if name == subject and (which == "all" or not each.deleted)
        ]
        if own:
            return max(own, key=lambda each: each.version)
    wanted = checked.content
    if merging.has_version(wanted.metadata):
        return None
    for stored in reversed(questions.versions_of(contents, subject, which)):
        found = stored.content
        if merging.has_version(found.metadata):
            found = replace(found, metadata=merging.without_version(found.metadata))
        if stored.version in checked.same_as or found == wanted:
            return stored
    return None


def decide(contents: Contents, wanted: Wanted, checked: Checked, batch: Batch) -> Decision:
    subject = wanted.subject
    _check_mode(wanted)
    found = existing(contents, subject, checked)
    if wanted.version == 0 and found is not None and wanted.id in (-1, found.id):
        return Decision(found)
    context = questions.context(contents, subject)
    id = wanted.id
    known = context.ids.get(checked.hash)
    if known is not None and id in (-1, known):
        id = known
    if checked.problems:
        raise incompatible(subject, f"[{', '.join(checked.problems)}]")
    following = _next_version(contents, subject)
    version = wanted.version if wanted.version > 0 else following
    if version != following and not wanted.is_import:
        raise invalid_schema("Version is not one more than previous version")
    if id >= 0:
        _check_id(contents, subject, id, checked)
    _check_version(contents, wanted, version, checked)
    if contents.versions >= REGISTRY_VERSIONS_MAX or contents.text_bytes >= REGISTRY_TEXT_MAX_BYTES:
        raise not_permitted(
            f"the registry holds {contents.versions} versions with {contents.text_bytes} bytes, which is its most;"
            " delete some permanently"
        )
    where = names.context_of(subject)
    batch.take(("subject", subject), ("schema", where, checked.hash))
    if id >= 0:
        batch.take(("id", where, id))
    else:
        id = batch.next_id(where, context.max_id)
    if id > NUMBER_MAX:
        raise not_permitted(f"Context {names.delimited(where)} has no id left: the highest, {NUMBER_MAX}, was given")
    stored = Stored(subject, version, id, checked.content, checked.hash, False, 0)
    return Decision(stored, (*_before(contents, stored), records.schema_record(stored)))


def _before(contents: Contents, stored: Stored) -> list[records.Record]:
    """A new context; and a deleted version with the same id, which the new one takes the place of."""
    found: list[records.Record] = []
    context = names.context_of(stored.subject)
    if context != names.DEFAULT_CONTEXT and context not in contents.known_contexts:
        if len(contents.contexts) >= REGISTRY_CONTEXTS_MAX:
            raise not_permitted(f"the registry has {REGISTRY_CONTEXTS_MAX} contexts, which is its most")
        found.append(records.context_record(context))
    for each in questions.versions_of(contents, stored.subject, "deleted"):
        if each.id == stored.id and each.version < stored.version:
            found.append(records.removed_schema(each.subject, each.version))
    return found


def _check_mode(wanted: Wanted) -> None:
    where = f"Subject {wanted.subject} in context {names.delimited(names.context_of(wanted.subject))}"
    if wanted.mode in READ_ONLY:
        raise not_permitted(f"{where} is in read-only mode")
    if wanted.id >= 0 and not wanted.is_import:
        raise not_permitted(f"{where} is not in import mode")
    if wanted.id < 0 and wanted.mode != "READWRITE":
        raise not_permitted(f"{where} is not in read-write mode")


def _check_version(contents: Contents, wanted: Wanted, version: int, checked: Checked) -> None:
    """A version that was acknowledged stays what it was, also for whoever imports."""
    if version > NUMBER_MAX:
        raise invalid_schema(f"Subject {wanted.subject} has no version left: the highest, {NUMBER_MAX}, was given")
    there = questions.version_of(contents, wanted.subject, version, "all")
    if there is not None and (there.content != checked.content or wanted.id not in (-1, there.id)):
        raise not_permitted(f"Overwrite version {version} of subject {wanted.subject} is not permitted.")


def _check_id(contents: Contents, subject: str, id: int, checked: Checked) -> None:
    same = questions.context(contents, subject).by_id.get(id, {})
    if any(each.content != checked.content for each in same.values()):
        where = names.delimited(names.context_of(subject))
        raise not_permitted(f"Overwrite new schema with id {id} in context {where} is not permitted.")

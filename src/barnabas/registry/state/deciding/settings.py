"""Levels (and what else a configuration has) and modes are changed: of everything, of a context, of a subject."""

from __future__ import annotations

import msgspec

from barnabas.model.limits import REGISTRY_SETTINGS_MAX
from barnabas.registry.errors import invalid_level, invalid_mode, no_subject, not_permitted, referenced
from barnabas.registry.state import names, questions, records
from barnabas.registry.state.contents import Contents
from barnabas.registry.state.deciding.decision import Decision
from barnabas.registry.state.deciding.deleting import check_writable
from barnabas.registry.state.values import IMPORTING, LEVELS, MODES, Config, Metadata, Mode, RuleSet


class ConfigRequest(msgspec.Struct, rename="camel"):
    """What is not named stays; what is null is removed. Other fields are passed over."""

    alias: str | msgspec.UnsetType | None = msgspec.UNSET
    normalize: bool | msgspec.UnsetType | None = msgspec.UNSET
    validate_fields: bool | msgspec.UnsetType | None = msgspec.UNSET
    validate_names: bool | msgspec.UnsetType | None = msgspec.UNSET
    compatibility: str | msgspec.UnsetType | None = msgspec.UNSET
    compatibility_level: str | msgspec.UnsetType | None = msgspec.UNSET  # by some clients
    compatibility_policy: str | msgspec.UnsetType | None = msgspec.UNSET
    compatibility_group: str | msgspec.UnsetType | None = msgspec.UNSET
    default_metadata: Metadata | msgspec.UnsetType | None = msgspec.UNSET
    override_metadata: Metadata | msgspec.UnsetType | None = msgspec.UNSET
    default_rule_set: RuleSet | msgspec.UnsetType | None = msgspec.UNSET
    override_rule_set: RuleSet | msgspec.UnsetType | None = msgspec.UNSET


class ModeRequest(msgspec.Struct):
    mode: str | None = None


def set_config(contents: Contents, subject: str | None, request: ConfigRequest) -> Decision:
    """Answered with what it is now, by the names of a request."""
    if request.compatibility is msgspec.UNSET:
        request.compatibility = request.compatibility_level
    level = request.compatibility
    if isinstance(level, str):
        request.compatibility = level = level.upper()
        if level not in LEVELS:
            raise invalid_level()
    check_writable(contents, subject)
    _check_room(contents, contents.configs, subject)
    old = contents.configs.get(subject) or Config()
    told = {
        name: getattr(request, "compatibility" if name == "compatibility_level" else name)
        for name in Config.__struct_fields__
    }
    new = msgspec.structs.replace(old, **{name: each for name, each in told.items() if each is not msgspec.UNSET})
    return Decision(as_request(new), (records.config_record(subject, new),))


def as_request(config: Config) -> dict[str, object]:
    """`compatibility` is what a level is called in a request."""
    told: dict[str, object] = msgspec.to_builtins(config)
    return {("compatibility" if name == "compatibilityLevel" else name): each for name, each in told.items()}


def delete_config(contents: Contents, subject: str | None) -> Decision:
    found = questions.own_config(contents, subject)
    if found is None:
        if subject is None:
            return Decision(questions.config_in_scope(contents, None))
        raise no_subject(subject)
    check_writable(contents, subject)
    return Decision(found, (records.config_record(subject, None),))


def set_mode(contents: Contents, subject: str | None, request: ModeRequest, *, force: bool) -> Decision:
    told = (request.mode or "").upper()
    mode: Mode | None = next((each for each in MODES if each == told), None)
    if mode is None:
        raise invalid_mode()
    _check_room(contents, contents.modes, subject)
    appended: list[records.Record] = []
    if mode in IMPORTING and questions.mode_in_scope(contents, subject) not in IMPORTING and not force:
        appended += _cleared(contents, subject)
    return Decision({"mode": mode}, (*appended, records.mode_record(subject, mode)))


def _cleared(contents: Contents, subject: str | None) -> list[records.Record]:
    """Ids come from elsewhere: nothing may be in their way."""
    if questions.any_subject(contents, subject):
        raise not_permitted("Cannot import since found existing subjects")
    gone = [
        stored
        for each in questions.subjects_matching(contents, subject, "all")
        for stored in questions.versions_of(contents, each, "all")
    ]
    for stored in gone:
        if questions.referenced_by(contents, stored):
            raise referenced(stored.subject, stored.version)
    removed = [records.removed_schema(each.subject, each.version) for each in gone]
    if gone:
        context = names.context_of(gone[0].subject)
        removed.append(records.max_id_record(context, contents.contexts[context].max_id))
    return [*removed, records.clear_subject_record(subject)]


def delete_mode(contents: Contents, subject: str | None) -> Decision:
    found = contents.modes.get(subject)
    if found is None:
        if subject is None:
            return Decision({"mode": "READWRITE"})
        raise no_subject(subject)
    return Decision({"mode": found}, (records.mode_record(subject, None),))


def _check_room(contents: Contents, table: object, subject: str | None) -> None:
    assert isinstance(table, dict)
    if subject not in table and len(table) >= REGISTRY_SETTINGS_MAX:
        raise not_permitted(f"the registry holds {REGISTRY_SETTINGS_MAX} settings of subjects, which is its most")

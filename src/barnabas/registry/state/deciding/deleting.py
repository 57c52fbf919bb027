"""Versions and subjects are deleted: softly first (an id still gives its schema), then for good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from barnabas.registry.errors import (
    context_not_empty,
    no_subject,
    no_version,
    not_permitted,
    referenced,
    subject_deleted,
    subject_not_deleted,
    version_deleted,
    version_not_deleted,
)
from barnabas.registry.state import names, questions, records
from barnabas.registry.state.contents import Contents
from barnabas.registry.state.deciding.decision import Decision
from barnabas.registry.state.values import READ_ONLY, Stored


def delete_version(contents: Contents, subject: str, version: int, told: str, *, permanent: bool) -> Decision:
    stored = questions.version_of(contents, subject, version, "all")
    if stored is None:
        raise no_version(version) if questions.has_subject(contents, subject, "all") else no_subject(subject)
    if stored.deleted and not permanent:
        raise version_deleted(subject, told)
    check_writable(contents, subject)
    _check_unreferenced(contents, stored)
    if not permanent:
        return Decision(stored.version, (records.schema_record(replace(stored, deleted=True)),))
    if not stored.deleted:
        raise version_not_deleted(subject, stored.version)
    appended = [records.removed_schema(subject, stored.version), *_remembered(contents, [stored])]
    if len(questions.versions_of(contents, subject, "all")) == 1:
        appended += _settings_of(contents, subject)
    return Decision(stored.version, tuple(appended))


def delete_subject(contents: Contents, subject: str, *, permanent: bool) -> Decision:
    every = questions.versions_of(contents, subject, "all")
    live = [each for each in every if not each.deleted]
    if not every:
        raise no_subject(subject)
    if not live and not permanent:
        raise subject_deleted(subject)
    check_writable(contents, subject)
    gone = every if permanent else live
    for stored in gone:
        _check_unreferenced(contents, stored)
    numbers = [each.version for each in gone]
    if not permanent:
        return Decision(numbers, (records.delete_subject_record(subject, numbers[-1]),))
    if live:
        raise subject_not_deleted(subject)
    appended = [records.removed_schema(subject, each) for each in numbers]
    return Decision(numbers, (*appended, *_remembered(contents, gone), *_settings_of(contents, subject)))


def delete_context(contents: Contents, context: str) -> Decision:
    if contents.contexts.get(context) is not None and contents.contexts[context].subjects:
        raise context_not_empty(context)
    if context not in contents.known_contexts:
        return Decision(None)
    return Decision(None, (records.context_record(context, there=False),))


def check_writable(contents: Contents, subject: str | None) -> None:
    if questions.mode_in_scope(contents, subject) in READ_ONLY:
        where = names.delimited(names.context_of(subject or ""))
        raise not_permitted(f"Subject {subject} in context {where} is in read-only mode")


def _check_unreferenced(contents: Contents, stored: Stored) -> None:
    if questions.referenced_by(contents, stored):
        raise referenced(stored.subject, stored.version)


def _remembered(contents: Contents, gone: list[Stored]) -> Iterator[records.Record]:
    """That an id was given, where no other record would say so."""
    context = questions.context(contents, gone[0].subject)
    if any(each.id == context.max_id for each in gone):
        yield records.max_id_record(names.context_of(gone[0].subject), context.max_id)


def _settings_of(contents: Contents, subject: str) -> Iterator[records.Record]:
    if subject in contents.modes:
        yield records.mode_record(subject, None)
    if subject in contents.configs:
        yield records.config_record(subject, None)

"""Everything that the registry knows. Only `apply` changes it, record after record, so that instances which have read
the same log know the same.

What cannot be read (another format, damaged JSON) is passed over and counted: one bad record must not take the registry
away from everybody.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field, replace
from typing import TypeVar

from barnabas.registry.schemas.formats import SCHEMA_TYPES
from barnabas.registry.state import names, records
from barnabas.registry.state.values import Config, Content, Mode, Stored, hash_of

Place = tuple[str, int]  # subject and version
Value = TypeVar("Value")


@dataclass(slots=True)
class Context:
    """Ids count by context."""

    by_id: dict[int, dict[Place, Stored]] = field(default_factory=dict)  # deleted ones too
    ids: dict[bytes, int] = field(default_factory=dict)  # hash -> id
    max_id: int = 0
    subjects: dict[str, dict[int, Stored]] = field(default_factory=dict)  # versions ascending


@dataclass(slots=True)
class Contents:
    contexts: dict[str, Context] = field(default_factory=lambda: {names.DEFAULT_CONTEXT: Context()})
    subjects: list[str] = field(default_factory=list)  # of all contexts, sorted
    known_contexts: list[str] = field(default_factory=list)  # sorted, without the default one
    configs: dict[str | None, Config] = field(default_factory=dict)
    modes: dict[str | None, Mode] = field(default_factory=dict)
    referenced_by: dict[Place, dict[Place, int]] = field(default_factory=dict)  # what names it, with its id
    versions: int = 0
    text_bytes: int = 0
    unreadable: int = 0
    changes: dict[str, int] = field(default_factory=dict)  # subject -> the offset of its last change
    settings_changed: int = -1  # the offset of the last change of a level or a mode

    def apply(self, offset: int, key: bytes | None, value: bytes | None, timestamp: int) -> None:
        try:
            found = records.read_key(key or b"")
            self._apply(offset, found, value, timestamp)
        except Exception:  # whatever somebody has written there: all that is behind it would be lost with it
            self.unreadable += 1

    def _apply(self, offset: int, key: records.Key, value: bytes | None, timestamp: int) -> None:
        subject = None if key.subject is None else names.normal(key.subject)
        match key.keytype:
            case "SCHEMA" if subject:
                self._schema(subject, key.version, value, timestamp)
                self._changed(subject, offset)
            case "CONFIG":
                _put(self.configs, subject or None, None if value is None else records.read_config(value))
                self.settings_changed = offset
            case "MODE":
                _put(self.modes, subject or None, None if value is None else records.read_mode(value).mode)
                self.settings_changed = offset
            case "DELETE_SUBJECT" if subject and value is not None:
                self._delete_up_to(subject, records.read_delete(value).version)
                self._changed(subject, offset)
            case "CLEAR_SUBJECT":
                self._clear(subject)
                self.settings_changed = offset
            case "CONTEXT" if key.context and key.context != names.DEFAULT_CONTEXT:
                self._know(key.context, there=value is not None)
            case "MAX_ID" if key.context and value is not None:
                context = self.contexts.setdefault(key.context, Context())
                context.max_id = max(context.max_id, records.read_max_id(value).id)

    def _changed(self, subject: str, offset: int) -> None:
        if subject in self.contexts.get(names.context_of(subject), Context()).subjects:
            self.changes[subject] = offset
        else:
            self.changes.pop(subject, None)

    # --- schemas ----------------------------------------------------------------------------------------------------

    def _schema(self, subject: str, version: int, value: bytes | None, timestamp: int) -> None:
        if value is None:
            self._remove(subject, version)
            return
        told = records.read_schema(value)
        type = next((each for each in SCHEMA_TYPES if each == (told.schema_type or "AVRO")), None)
        if type is None:
            self.unreadable += 1
            return
        context = self.contexts.setdefault(names.context_of(subject), Context())
        content = records.content_of(told, type)
        hash = hash_of(content)
        content = _shared(context, told.id, hash, content)
        self._put_version(context, Stored(subject, version, told.id, content, hash, told.deleted, timestamp))

    def _put_version(self, context: Context, stored: Stored) -> None:
        """A version that is there already keeps its place: thousands may be deleted softly at once."""
        versions = context.subjects.get(stored.subject)
        if versions is None:
            versions = context.subjects[stored.subject] = {}
            insort(self.subjects, stored.subject)
        before, last = versions.get(stored.version), next(reversed(versions), 0)
        if before is not None:
            self._forget(context, before)
        versions[stored.version] = stored
        if before is None and stored.version < last:
            context.subjects[stored.subject] = dict(sorted(versions.items()))
        context.by_id.setdefault(stored.id, {})[stored.subject, stored.version] = stored
        context.ids[stored.hash] = stored.id
        context.max_id = max(context.max_id, stored.id)
        self.versions += 1
        self.text_bytes += len(stored.content.text)
        if not stored.deleted:
            for place in _references(stored):
                self.referenced_by.setdefault(place, {})[stored.subject, stored.version] = stored.id

    def _remove(self, subject: str, version: int) -> None:
        context = self.contexts.get(names.context_of(subject))
        versions = None if context is None else context.subjects.get(subject)
        if context is None or versions is None or version not in versions:
            return
        stored = versions.pop(version)
        if not versions:
            del context.subjects[subject]
            del self.subjects[bisect_left(self.subjects, subject)]
        self._forget(context, stored)

    def _forget(self, context: Context, stored: Stored) -> None:
        """Everything about a version but its place in the subject."""
        subject, version = stored.subject, stored.version
        same = context.by_id[stored.id]
        del same[subject, version]
        if not same:
            del context.by_id[stored.id]
        if context.ids.get(stored.hash) == stored.id and not _has(same, stored.hash):
            del context.ids[stored.hash]
        self.versions -= 1
        self.text_bytes -= len(stored.content.text)
        for place in _references(stored):
            named = self.referenced_by.get(place, {})
            named.pop((subject, version), None)
            if not named:
                self.referenced_by.pop(place, None)

    def _delete_up_to(self, subject: str, last: int) -> None:
        context = self.contexts.get(names.context_of(subject), Context())
        for stored in [*context.subjects.get(subject, {}).values()]:
            if stored.version <= last and not stored.deleted:
                self._put_version(context, replace(stored, deleted=True))

    def _clear(self, subject: str | None) -> None:
        """What is deleted softly, of a subject, of a context, or of all."""
        for context in [*self.contexts.values()]:
            for stored in [each for versions in context.subjects.values() for each in versions.values()]:
                if stored.deleted and matches(subject, stored.subject):
                    self._remove(stored.subject, stored.version)

    def _know(self, context: str, *, there: bool) -> None:
        if there and context not in self.known_contexts:
            insort(self.known_contexts, context)
            self.contexts.setdefault(context, Context())
        elif not there and context in self.known_contexts:
            self.known_contexts.remove(context)


def matches(pattern: str | None, subject: str) -> bool:
    """Whether a subject is meant: by its name, by its context (`:.context:`), or by None, which is the default one."""
    if pattern is None:
        return names.context_of(subject) == names.DEFAULT_CONTEXT
    context, name = names.split(pattern)
    return pattern == subject if name else names.context_of(subject) == context


def _references(stored: Stored) -> list[Place]:
    return [(names.in_context_of(stored.subject, each.subject), each.version) for each in stored.content.references]


def _shared(context: Context, id: int, hash: bytes, content: Content) -> Content:
    """One text in memory for all versions with the same id."""
    same = next(iter(context.by_id.get(id, {}).values()), None)
    return same.content if same is not None and same.hash == hash else content


def _has(same: dict[Place, Stored], hash: bytes) -> bool:
    """Versions with one id have one hash, unless somebody has written the topic by hand."""
    return next((each.hash == hash for each in same.values()), False)


def _put(table: dict[str | None, Value], key: str | None, value: Value | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value

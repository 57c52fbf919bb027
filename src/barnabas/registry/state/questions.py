"""What the REST API asks of the contents. A subject without a context that is not found is looked for in the others,
as Confluent's registry does it: a client that was not told of contexts still finds what it reads."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from barnabas.registry.state import names
from barnabas.registry.state.contents import Contents, Context, matches
from barnabas.registry.state.values import DEFAULT_LEVEL, Config, Mode, Stored

Which = Literal["live", "all", "deleted"]
LATEST = -1
_NONE: Mapping[int, Stored] = {}
_HIGHEST = "\U0010ffff"  # no name has it


def context(contents: Contents, subject: str) -> Context:
    return contents.contexts.get(names.context_of(subject)) or Context()


def versions_of(contents: Contents, subject: str, which: Which = "live") -> list[Stored]:
    """Ascending."""
    found = context(contents, subject).subjects.get(subject, _NONE).values()
    return [each for each in found if _is(each, which)]


def version_of(contents: Contents, subject: str, version: int, which: Which = "live") -> Stored | None:
    """LATEST is the newest that is not deleted."""
    if version == LATEST:
        found = context(contents, subject).subjects.get(subject, _NONE)
        return next((each for each in reversed(found.values()) if not each.deleted), None)  # type: ignore[call-overload]
    stored = context(contents, subject).subjects.get(subject, _NONE).get(version)
    return stored if stored is not None and _is(stored, which) else None


def find_version(contents: Contents, subject: str, version: int, which: Which = "live") -> Stored | None:
    """Also in other contexts, where the name has none."""
    for each in also_elsewhere(contents, subject):
        if (found := version_of(contents, each, version, which)) is not None:
            return found
    return None


def also_elsewhere(contents: Contents, subject: str) -> Iterator[str]:
    yield subject
    where, name = names.split(subject)
    if where == names.DEFAULT_CONTEXT:
        for other in contents.known_contexts:
            yield names.qualified(other, name)


def has_subject(contents: Contents, subject: str, which: Which = "live") -> bool:
    return any(_is(each, which) for each in context(contents, subject).subjects.get(subject, _NONE).values())


def any_subject(contents: Contents, pattern: str | None, which: Which = "live") -> bool:
    return next(subjects_matching(contents, pattern, which), None) is not None


def subjects_matching(contents: Contents, pattern: str | None, which: Which) -> Iterator[str]:
    where = names.DEFAULT_CONTEXT if pattern is None else names.context_of(pattern)
    for subject in contents.contexts.get(where, Context()).subjects:
        if matches(pattern, subject) and has_subject(contents, subject, which):
            yield subject


def by_id(contents: Contents, id: int, subject: str | None) -> Stored | None:
    """Of the context that `subject` is in; a whole context is named by `:.context:`. A subject without a context that
    does not have the id there may have it in another context."""
    if subject is None:
        return _preferred(contents.contexts[names.DEFAULT_CONTEXT].by_id.get(id))
    where, name = names.split(subject)
    if not name:
        return _preferred(contents.contexts.get(where, Context()).by_id.get(id))
    for each in also_elsewhere(contents, subject):
        own = {place: stored for place, stored in context(contents, each).by_id.get(id, {}).items() if place[0] == each}
        if own:
            return _preferred(own)
    return _preferred(context(contents, subject).by_id.get(id)) if where == names.DEFAULT_CONTEXT else None


def same_id(contents: Contents, stored: Stored, which: Which) -> list[Stored]:
    return [each for each in context(contents, stored.subject).by_id.get(stored.id, {}).values() if _is(each, which)]


def by_guid(contents: Contents, hash: bytes) -> list[tuple[str, Stored]]:
    """In each context that has it, the default one first."""
    found: list[tuple[str, Stored]] = []
    for name in (names.DEFAULT_CONTEXT, *contents.known_contexts):
        where = contents.contexts.get(name)
        if where is not None and hash in where.ids:
            stored = _preferred(where.by_id.get(where.ids[hash]))
            if stored is not None:
                found.append((name, stored))
    return found


def _preferred(same: Mapping[tuple[str, int], Stored] | None) -> Stored | None:
    """One that is not deleted, where there is one; an id is answered for deleted ones too: data with it is still
    there."""
    if not same:
        return None
    return next((each for each in same.values() if not each.deleted), None) or next(iter(same.values()))


def is_listed(contents: Contents, subject: str, which: Which) -> bool:
    """A deleted subject is one whose versions are all deleted."""
    return has_subject(contents, subject, which) and not (which == "deleted" and has_subject(contents, subject))


def subjects(contents: Contents, prefix: str, which: Which) -> list[str]:
    return [each for each in with_prefix(contents, prefix) if is_listed(contents, each, which)]


def with_prefix(contents: Contents, prefix: str) -> list[str]:
    """Sorted; `:*:` is every context, a prefix without a context is of the default one. A copy: whoever goes through
    many lets others have their turn."""
    if prefix == names.EVERY_CONTEXT:
        return contents.subjects.copy()
    if prefix.startswith(names.EVERY_CONTEXT):
        name = prefix.removeprefix(names.EVERY_CONTEXT)
        return sorted(each for where in contents.contexts for each in _between(contents, names.qualified(where, name)))
    if not prefix:
        return [each for each in contents.subjects if not each.startswith(":.")]
    return _between(contents, names.qualified(*names.split(prefix)))


def _between(contents: Contents, prefix: str) -> list[str]:
    start = bisect_left(contents.subjects, prefix)
    return contents.subjects[start : bisect_left(contents.subjects, prefix + _HIGHEST, start)]


def contexts(contents: Contents) -> list[str]:
    return [names.DEFAULT_CONTEXT, *contents.known_contexts]


def referenced_by(contents: Contents, stored: Stored) -> list[int]:
    return sorted(set(contents.referenced_by.get((stored.subject, stored.version), {}).values()))


def own_config(contents: Contents, subject: str | None) -> Config | None:
    """Without what is inherited; one that says no level has the default one, as in Confluent's."""
    found = contents.configs.get(subject)
    return None if found is None else _with_level(found)


def config_in_scope(contents: Contents, subject: str | None) -> Config:
    """The subject's own as a whole, else its context's; that of everything counts in the default context."""
    return _with_level(
        next((contents.configs[each] for each in _scopes(subject) if each in contents.configs), Config())
    )


def _with_level(config: Config) -> Config:
    return config if config.compatibility_level else msgspec.structs.replace(config, compatibility_level=DEFAULT_LEVEL)


def own_mode(contents: Contents, subject: str | None) -> Mode | None:
    override = contents.modes.get(None) == "READONLY_OVERRIDE"
    return "READONLY_OVERRIDE" if override else contents.modes.get(subject)


def mode_in_scope(contents: Contents, subject: str | None) -> Mode:
    if contents.modes.get(None) == "READONLY_OVERRIDE":
        return "READONLY_OVERRIDE"
    return next((contents.modes[place] for place in _scopes(subject) if place in contents.modes), "READWRITE")


def _scopes(subject: str | None) -> Iterator[str | None]:
    if subject is not None:
        yield subject
        where = names.context_of(subject)
        if where != names.DEFAULT_CONTEXT:
            yield names.context_prefix(where)
            return
    yield None


def _is(stored: Stored, which: Which) -> bool:
    return which == "all" or stored.deleted == (which == "deleted")

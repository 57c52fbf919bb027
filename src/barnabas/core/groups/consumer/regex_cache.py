"""The topics that regular expressions stand for, kept until the topics change, and then only matched with new names.

Matching one name takes some 5 us, so 10,000 names take 50 ms and more: too long for one turn of the loop. What cannot
be answered from what is known and a few new names is matched in a thread (subscriptions.py).
"""

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.core.coordinator.pattern import Pattern
from barnabas.core.groups.topics import TopicsView
from barnabas.model.limits import GROUP_REGEX_CACHED_MAX


class Matched(NamedTuple):
    names: frozenset[str]  # that were looked at
    topics: tuple[str, ...]  # those of them that match, in order


class RegexCache:
    __slots__ = ("_matched", "_names", "_version")

    def __init__(self) -> None:
        self._matched: dict[str, Matched] = {}
        self._version: int | None = None
        self._names: frozenset[str] = frozenset()

    def names(self, topics: TopicsView) -> frozenset[str]:
        if topics.version != self._version:
            self._version, self._names = topics.version, frozenset(topics.names())
        return self._names

    def unmatched(self, text: str, topics: TopicsView) -> frozenset[str]:
        """The names that the expression has to be matched with before its topics are known."""
        known, names = self._matched.get(text), self.names(topics)
        if known is None:
            return names
        return names - known.names if known.names is not names else frozenset()

    def add(self, text: str, names: frozenset[str], found: Iterable[str]) -> None:
        """`found` are those of `names` that match; what is known of other names stays."""
        known = self._matched.pop(text, None)
        topics, seen = set(found), names
        if known is not None:
            topics.update(known.topics)
            seen = names | known.names
        self._matched[text] = Matched(seen, tuple(sorted(topics)))
        while len(self._matched) > GROUP_REGEX_CACHED_MAX:
            del self._matched[next(iter(self._matched))]

    def topics(self, text: str, topics: TopicsView) -> tuple[str, ...]:
        """What it stands for, once nothing is unmatched."""
        known, names = self._matched[text], self.names(topics)
        if known.names is not names:
            self._matched[text] = known = Matched(names, tuple(name for name in known.topics if name in names))
        return known.topics


def matching(pattern: Pattern, names: Iterable[str]) -> list[str]:
    return [name for name in names if pattern.fullmatch(name)]

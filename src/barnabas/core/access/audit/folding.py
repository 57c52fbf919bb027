"""Repeats become one event with a count, so that nobody can fill a disk by being refused.

The first event of its kind is written at once. What is the same within the interval is counted, and written at its end
as one event; while it goes on, so does that: one event an interval. Of one source (the principal; for strangers the
address) only so many different events are told apart, and of all together: what comes beyond is counted with others of
that source, in the end with all others. Nothing goes uncounted, and memory is bounded by the two limits.

What an administrator did is not counted with others: each leads to a record of the metadata log, which costs more.
"""

import sys
from collections import Counter, OrderedDict

from msgspec import structs

from barnabas.core.access.audit.event import ADMINISTRATION, CONNECTION, LOGIN, AuditEvent, Key

OTHERS = "(others)"
_OF_STRANGERS = frozenset({LOGIN, CONNECTION})  # whose principal is only what they say


class _Seen:
    __slots__ = ("count", "ends_ms", "event", "first_ms", "last_ms", "source")

    def __init__(self, event: AuditEvent, ends_ms: int, source: str | None) -> None:
        self.event = event
        self.ends_ms = ends_ms
        self.source = source  # None: not one of those that are limited
        self.count = 0  # since the last event that was written
        self.first_ms = self.last_ms = 0


class Folding:
    def __init__(self, interval_ms: int, events_max: int, per_source_max: int) -> None:
        self._interval_ms = interval_ms
        self._events_max = events_max
        self._per_source_max = per_source_max
        self._seen: OrderedDict[Key, _Seen] = OrderedDict()  # in the order in which their intervals end
        self._sources: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._seen)

    def add(self, event: AuditEvent, now_ms: int) -> AuditEvent | None:
        """The event, if it is to be written now; None when it was counted. `now_ms` runs steadily."""
        if self.count(event.key, event.time_ms, event.count):
            return None
        coarse = self._coarse_key(event.key)
        if coarse is not None:
            event = AuditEvent(
                event.event, event.allowed, event.time_ms, principal=coarse[2], host=coarse[3], resource=OTHERS
            )
        if not _is_change(event.key) or len(self._seen) < self._events_max // 2:
            source = None if coarse is not None or _is_change(event.key) else _source(event.key)
            self._seen[event.key] = _Seen(event, now_ms + self._interval_ms, source)
            if source is not None:
                self._sources[source] += 1
        return event

    def count(self, key: Key, time_ms: int, count: int = 1) -> bool:
        """Counts what was seen before, or is one too many of its source; False for what is to be told (`add`). It is
        quick, for refusals that come by the thousand."""
        seen = self._seen.get(key)
        if seen is None:
            coarse = self._coarse_key(key)
            seen = None if coarse is None else self._seen.get(coarse)
            if seen is None:
                return False
        seen.count += count
        seen.last_ms = time_ms
        seen.first_ms = seen.first_ms or time_ms
        return True

    def due(self, now_ms: int, *, most: int = sys.maxsize) -> list[AuditEvent]:
        """What was counted and whose interval has ended; of at most so many."""
        found: list[AuditEvent] = []
        ended: list[Key] = []
        for key, seen in self._seen.items():
            if seen.ends_ms > now_ms or len(ended) >= most:
                break
            ended.append(key)
        for key in ended:
            seen = self._seen.pop(key)
            if seen.count:
                found.append(_summary(seen))
                seen.count = seen.first_ms = 0
                seen.ends_ms = now_ms + self._interval_ms
                self._seen[key] = seen  # it goes on: what comes next is counted again
            elif seen.source is not None:
                self._forget(seen.source)
        return found

    @property
    def next_ms(self) -> int | None:
        """When the next interval ends."""
        return next(iter(self._seen.values())).ends_ms if self._seen else None

    def _coarse_key(self, key: Key) -> Key | None:
        """With which others an event is counted; None: it is told apart."""
        if _is_change(key):
            return None
        event, allowed, principal, host = key[:4]
        if len(self._seen) >= self._events_max:
            return event, allowed, OTHERS, OTHERS, "", "", OTHERS, "", ""
        if self._sources[_source(key)] < self._per_source_max:
            return None
        if event in _OF_STRANGERS:
            return event, allowed, OTHERS, host, "", "", OTHERS, "", ""
        return event, allowed, principal, OTHERS, "", "", OTHERS, "", ""

    def _forget(self, source: str) -> None:
        self._sources[source] -= 1
        if not self._sources[source]:
            del self._sources[source]


def _is_change(key: Key) -> bool:
    return key[0] == ADMINISTRATION and key[1]


def _source(key: Key) -> str:
    return key[3] if key[0] in _OF_STRANGERS else key[2]


def _summary(seen: _Seen) -> AuditEvent:
    return structs.replace(seen.event, time_ms=seen.last_ms, since_ms=seen.first_ms, count=seen.count)

"""Which objects are new. A bucket has no log of what was put into it, only listings, so there are two ways to know.

**By time** (`order: time`). Objects are read by the time of their last change, then by name. A position has the times
and names of those read lately (`seen`), and a floor: whatever is not later than the floor counts as read. The floor
follows the newest object that was read at a distance of `grace_seconds`, for an object may become visible later than
its time says (a large one has the time at which its upload began), or closer when more than `remember` objects are
younger than that. An object that is written again has a new time, and is read again. Every listing is of all names.
Times are whole seconds: that is what an answer about one object has, where a listing may have more.

**By name** (`order: name`). A position has the last name, and listings begin after it: cheap, and right if each new
name sorts after all older ones. What sorts before is never read.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from barnabas.connect.connectors.s3.store import Bucket, Found
from barnabas.connect.contract import Position

AT_ONCE = 1000  # objects that one listing gives


class Listing(Protocol):
    def new(self) -> list[Found]:
        """Objects that were not read, in the order in which to read them, AT_ONCE at most."""

    def read(self, found: Found) -> None:
        """It has been read, to its end."""

    def position(self) -> Position: ...


def seconds(found: Found) -> int:
    return int(found.modified.timestamp())


class ByName:
    def __init__(self, bucket: Bucket, wanted: Callable[[str], bool], position: Position) -> None:
        self._bucket, self._wanted = bucket, wanted
        self._after = str(position.get("after", ""))

    def new(self) -> list[Found]:
        found = (each for each in self._bucket.list(self._bucket.prefix, self._after) if self._wanted(each.name))
        return heapq.nsmallest(AT_ONCE, _first(found), key=lambda each: each.name)

    def read(self, found: Found) -> None:
        self._after = found.name

    def position(self) -> Position:
        return {"after": self._after}


def _first(found: Iterator[Found]) -> Iterator[Found]:
    """Names come in order: no need to list further than what is taken."""
    for _, each in zip(range(AT_ONCE), found, strict=False):
        yield each


class ByTime:
    def __init__(
        self, bucket: Bucket, wanted: Callable[[str], bool], position: Position, grace_s: float, remember: int
    ) -> None:
        self._bucket, self._wanted, self._grace_s, self._remember = bucket, wanted, grace_s, remember
        state = msgspec.convert(position, _State)
        self._floor = state.floor
        self._seen = {(at, name) for at, name in state.seen}
        self._newest = max(self._seen, default=self._floor)[0]

    def new(self) -> list[Found]:
        return heapq.nsmallest(AT_ONCE, self._unread(), key=lambda each: (seconds(each), each.name))

    def _unread(self) -> Iterator[Found]:
        for each in self._bucket.list(self._bucket.prefix):
            place = (seconds(each), each.name)
            if place > self._floor and place not in self._seen and self._wanted(each.name):
                yield each

    def read(self, found: Found) -> None:
        self._seen.add((seconds(found), found.name))
        self._newest = max(self._newest, seconds(found))
        for place in sorted(self._seen):
            if place[0] >= self._newest - self._grace_s and len(self._seen) <= self._remember:
                break
            self._seen.remove(place)
            self._floor = max(self._floor, place)

    def position(self) -> Position:
        return {"floor": list(self._floor), "seen": [list(place) for place in sorted(self._seen)]}


class _State(msgspec.Struct):
    floor: tuple[int, str] = (-1, "")
    seen: list[tuple[int, str]] = []

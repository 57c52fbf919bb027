"""What a reset would do: where each partition would go on, what would be read again, what would be skipped. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.console.clusters.facts import TopicPartition
from barnabas.console.problems import Problem

EARLIEST, LATEST, TIME, OFFSET, SHIFT = "earliest", "latest", "time", "offset", "shift"
WAYS = (EARLIEST, LATEST, TIME, OFFSET, SHIFT)


class Move(NamedTuple):
    topic: str
    partition: int
    before: int | None  # None: nothing was committed
    after: int
    start: int
    end: int

    @property
    def again(self) -> int:
        """Offsets that the group has read and will read again."""
        return max(0, self.before - self.after) if self.before is not None else 0

    @property
    def skipped(self) -> int:
        """Offsets that the group has not read and will not; what retention has removed is no loss of the reset."""
        return max(0, self.after - max(self.before, self.start)) if self.before is not None else 0


def moves(
    partitions: Iterable[TopicPartition],
    way: str,
    value: int,
    before: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    at_time: Mapping[TopicPartition, int],
) -> list[Move]:
    """Every target lies within the log. `at_time`: the first offset at or after the time; where there is none, the
    end."""
    found = []
    for each in sorted(partitions):
        if each not in starts or each not in ends:
            raise Problem(f"{each[0]}-{each[1]} has no leader now", "Wait until it has one, or leave it out.")
        old, start, end = before.get(each), starts[each], ends[each]
        if way == SHIFT and old is None:
            continue  # there is nothing to move from
        target = _target(way, value, old, start, end, at_time.get(each, -1))
        found.append(Move(*each, old, min(max(target, start), end), start, end))
    if not found:
        raise Problem("the group has committed nothing there, so there is nothing to shift")
    return found


def _target(way: str, value: int, old: int | None, start: int, end: int, at_time: int) -> int:
    if way == EARLIEST:
        return start
    if way == LATEST:
        return end
    if way == TIME:
        return at_time if at_time >= 0 else end
    return value if way == OFFSET else (old or 0) + value

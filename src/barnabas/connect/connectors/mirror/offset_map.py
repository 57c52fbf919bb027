"""Which offset of the target an offset of the source is, for one partition.

Records are copied in order, so two offsets that belong together say something about all that lie between them. The map
is a list of anchors (source, target, records): so many records were copied that stand before `source`, all of them
before `target`, and all others stand at or after it. Between two anchors lie n copied records, `source' - source - n`
offsets of the source that are none (markers of its transactions, what compaction removed), and `target' - target - n`
of the target (markers of ours, what a worker that was killed had left open). Where both are 0 the translation is
exact; else it is too low by at most their sum, never too high, so that a group that goes on with it misses nothing.

The newest transactions are kept as they are. Older anchors are removed where that costs least for how long ago it is,
so the list is bounded and the error of a group that is far behind is small against how far that is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

ANCHORS_MAX = 64  # about 1 KB in a position
_EXACT = 16  # the newest anchors, two of a transaction, are never removed
_RUNS_MAX = 32  # anchors that the gaps of the source make in one transaction

Run = tuple[int, int]  # the first offset and how many records follow each other from there


class Anchor(NamedTuple):
    source: int
    target: int
    records: int


class Translated(NamedTuple):
    offset: int  # nothing that was not read lies before it
    again_max: int  # the right one is at most so much higher


class OffsetMap:
    def __init__(self, anchors: Sequence[Anchor], unplaced: int = 0) -> None:
        """`unplaced`: records behind the last anchor of which it is not known where they stand."""
        assert anchors, "a map begins where the copy begins"
        self._anchors = list(anchors)
        self._unplaced = unplaced

    @classmethod
    def beginning_at(cls, source: int, target: int = 0) -> OffsetMap:
        return cls([Anchor(source, target, 0)])

    # --- what a position keeps --------------------------------------------------------------------------------------

    def encoded(self) -> list[int]:
        """Differences: small numbers."""
        found: list[int] = []
        before = Anchor(0, 0, 0)
        for each in self._anchors:
            found += (each.source - before.source, each.target - before.target, each.records - before.records)
            before = each
        return [*found, self._unplaced] if self._unplaced else found

    @classmethod
    def decoded(cls, numbers: Sequence[int]) -> OffsetMap:
        anchors: list[Anchor] = []
        before = Anchor(0, 0, 0)
        for at in range(0, len(numbers) - 2, 3):
            source, target, count = numbers[at : at + 3]
            before = Anchor(before.source + source, before.target + target, before.records + count)
            anchors.append(before)
        return cls(anchors, numbers[-1] if len(numbers) % 3 else 0)

    @property
    def first(self) -> Anchor:
        """Where the copy begins: what the source has before it is not at the target."""
        return self._anchors[0]

    @property
    def last(self) -> Anchor:
        return self._anchors[-1]

    def __len__(self) -> int:
        return len(self._anchors)

    # --- growing ----------------------------------------------------------------------------------------------------

    def extend(self, runs: Sequence[Run], end: int, placed: Sequence[Run]) -> None:
        """A transaction: `runs` of the source stand at `placed` of the target, and everything before `end` is done.

        Where the two have not the same number of records (a step of the definition left some out), or an answer did not
        say where a batch stands (-1), only the beginning and the end are known."""
        count = self.last.records + self._unplaced
        written = sum(each[1] for each in placed)
        known = [each for each in placed if each[0] >= 0]
        if len(known) == len(placed) and written == sum(each[1] for each in runs):
            count = self._walk(runs, placed, count)
        elif known:
            if known[0] is placed[0] and runs:
                self._add(Anchor(runs[0][0], known[0][0], count))
            count += written
        target = self.last.target
        if known and known[-1] is placed[-1]:
            target = known[-1][0] + known[-1][1]
        elif placed:
            self._unplaced = (count if known else count + written) - self.last.records
            return  # where the end stands is said by the next transaction
        elif self._unplaced:
            return
        self._unplaced = 0
        self._add(Anchor(end, target, count))
        self._thin()

    def _walk(self, runs: Sequence[Run], placed: Sequence[Run], count: int) -> int:
        """An anchor wherever one side does not go on by one; of a source that is full of gaps, at some of them."""
        targets = iter(placed)
        target, room, goes_on_at = 0, 0, -1
        every = len(runs) // _RUNS_MAX + 1
        for number, (source, left) in enumerate(runs):
            is_marked = number % every == 0
            while left:
                if not room:
                    target, room = next(targets)
                some = min(left, room)
                if is_marked or target != goes_on_at:
                    self._add(Anchor(source, target, count))
                is_marked = False
                source, target, count = source + some, target + some, count + some
                left, room, goes_on_at = left - some, room - some, target
        return count

    def _add(self, anchor: Anchor) -> None:
        anchors = self._anchors
        assert anchor.source >= anchors[-1].source and anchor.target >= anchors[-1].target, f"{anchor} {anchors[-1]}"
        if anchor == anchors[-1]:
            return
        if len(anchors) > 1 and anchors[-1].records == anchors[-2].records == anchor.records:
            anchors[-1] = anchor  # no record lies between them: the first and the last say it
        else:
            anchors.append(anchor)

    def _thin(self) -> None:
        anchors = self._anchors
        while len(anchors) > ANCHORS_MAX:
            newest = anchors[-1].records
            del anchors[
                min(
                    range(1, len(anchors) - _EXACT),
                    key=lambda at: _error(anchors[at - 1], anchors[at + 1]) / (newest - anchors[at].records + 1),
                )
            ]

    # --- asking -----------------------------------------------------------------------------------------------------

    def translate(self, source: int) -> Translated:
        """The offset at the target for somebody who has read everything before `source` at the source."""
        anchors = self._anchors
        at = bisect_right(anchors, source, key=lambda each: each.source) - 1
        if at < 0:
            return Translated(anchors[0].target, 0)
        low, high = anchors[at], anchors[min(at + 1, len(anchors) - 1)]
        if low.source == source or low is high:
            return Translated(low.target, 0)
        if low.records == high.records:
            return Translated(high.target, 0)
        beyond, records = source - low.source, high.records - low.records
        missing, others = high.source - low.source - records, high.target - low.target - records
        found = low.target + max(0, beyond - missing)
        return Translated(found, min(high.target, low.target + beyond + others) - found)

    def back(self, target: int) -> Translated:
        """The offset at the source for somebody who has read everything before `target` at the target."""
        anchors = self._anchors
        at = bisect_right(anchors, target, key=lambda each: each.target) - 1
        if at < 0:
            return Translated(anchors[0].source, 0)
        low, high = anchors[at], anchors[min(at + 1, len(anchors) - 1)]
        if low.target == target or low is high:
            return Translated(low.source, 0)
        if low.records == high.records:
            return Translated(high.source, 0)
        beyond, records = target - low.target, high.records - low.records
        missing, others = high.source - low.source - records, high.target - low.target - records
        found = low.source + max(0, beyond - others)
        return Translated(found, min(high.source, low.source + beyond + missing) - found)


def _error(low: Anchor, high: Anchor) -> int:
    """How far a translation between the two may be too low."""
    records = high.records - low.records
    if not records:
        return 0
    return min((high.source - low.source) + (high.target - low.target) - 2 * records, high.target - low.target)

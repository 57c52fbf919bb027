"""The log as the machine sees it: offsets, epochs and voter sets, no records. The driver keeps the bytes.

It answers the two questions of KIP-595: does a follower's end agree with this log, and if not, where did they part.
Offsets below `start` are in a snapshot (KIP-630); `start.epoch` is the epoch of the record before it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from barnabas.core.raft.messages import OffsetAndEpoch
from barnabas.core.raft.voters import NO_VOTERS, VoterSet

EMPTY = OffsetAndEpoch(0, 0)


class LogView(Struct, frozen=True):
    """What the driver found on disk. Everything in it counts as flushed.

    `voters`: every VotersRecord with the last offset of its batch, ascending; offset -1 for a set that is in no log yet
    (the initial controllers), and `start.offset - 1` for the one in the snapshot the log begins with.
    """

    end_offset: int = 0
    epochs: Sequence[tuple[int, int]] = ()  # (epoch, first offset)
    start: OffsetAndEpoch = EMPTY
    snapshot: OffsetAndEpoch | None = None  # the newest; at least `start` when the log was trimmed
    high_watermark: int = 0
    voters: Sequence[tuple[int, VoterSet]] = ()


class Valid(Struct, frozen=True):
    pass


class Diverging(Struct, frozen=True):
    end: OffsetAndEpoch


class NeedsSnapshot(Struct, frozen=True):
    snapshot_id: OffsetAndEpoch


VALID = Valid()


class LogState:
    __slots__ = ("end_offset", "epochs", "flushed_offset", "generation", "history", "snapshot", "start")

    def __init__(self, view: LogView) -> None:
        self.start = view.start
        self.snapshot = view.snapshot
        self.end_offset = view.end_offset
        self.flushed_offset = view.end_offset
        self.generation = 0
        self.epochs = list(view.epochs)
        self.history = list(view.voters)
        starts = [view.start, *(OffsetAndEpoch(offset, epoch) for epoch, offset in self.epochs)]
        for before, after in pairwise(starts):
            if after.epoch < before.epoch or after.offset < before.offset or after.offset >= self.end_offset:
                raise ValueError(f"the log's epochs do not ascend: {starts}, end {self.end_offset}")

    @property
    def voters(self) -> VoterSet:
        return self.history[-1][1] if self.history else NO_VOTERS

    @property
    def voters_offset(self) -> int:
        return self.history[-1][0] if self.history else -1

    @property
    def last_epoch(self) -> int:
        return self.epochs[-1][0] if self.epochs else self.start.epoch

    @property
    def flushed_end(self) -> OffsetAndEpoch:
        """The end of what is flushed: a crash cannot take it back."""
        offset = self.flushed_offset
        number = bisect_left(self.epochs, offset, key=lambda entry: entry[1])
        return OffsetAndEpoch(offset, self.epochs[number - 1][0] if number else self.start.epoch)

    def end_of_epoch(self, epoch: int) -> OffsetAndEpoch:
        """The largest epoch here that is not above `epoch`, and where it ends."""
        number = bisect_right(self.epochs, epoch, key=lambda entry: entry[0])
        if number == 0:
            return self.start
        end = self.epochs[number][1] if number < len(self.epochs) else self.end_offset
        return OffsetAndEpoch(end, self.epochs[number - 1][0])

    def compare(self, offset: int, epoch: int) -> Valid | Diverging | NeedsSnapshot:
        """A follower's log ends at `offset` with a record of `epoch`: is it a prefix of ours?"""
        start = self.start
        if self.snapshot is not None and (
            offset < start.offset or epoch < start.epoch or (offset == start.offset and epoch != start.epoch)
        ):
            return NeedsSnapshot(self.snapshot)
        end = self.end_of_epoch(epoch)
        return VALID if end.epoch == epoch and offset <= end.offset else Diverging(end)

    def append(self, last_offset: int, epoch: int, voters: VoterSet | None) -> None:
        if epoch != self.last_epoch or not self.epochs:
            self.epochs.append((epoch, self.end_offset))
        self.end_offset = last_offset + 1
        if voters is not None:
            self.history.append((last_offset, voters))

    def truncation_point(self, diverging: OffsetAndEpoch) -> int:
        """Where to cut, when the leader's log diverges from ours at `diverging`."""
        local = self.end_of_epoch(diverging.epoch)
        return min(local.offset, diverging.offset) if local.epoch == diverging.epoch else local.offset

    def truncate(self, end_offset: int) -> None:
        self.end_offset = end_offset
        self.flushed_offset = min(self.flushed_offset, end_offset)
        self.generation += 1
        del self.epochs[bisect_left(self.epochs, end_offset, key=lambda entry: entry[1]) :]
        while self.history and self.history[-1][0] >= end_offset:
            self.history.pop()

    def reset(self, snapshot_id: OffsetAndEpoch, voters: VoterSet) -> None:
        self.start = self.snapshot = snapshot_id
        self.end_offset = self.flushed_offset = snapshot_id.offset
        self.generation += 1
        self.epochs.clear()
        self.history = [(snapshot_id.offset - 1, voters)]

    def trim(self, snapshot_id: OffsetAndEpoch) -> None:
        """The log now begins at the end of this snapshot of its own records."""
        if snapshot_id.offset <= self.start.offset:
            return
        self.start = snapshot_id
        self.flushed_offset = max(self.flushed_offset, snapshot_id.offset)  # a follower's may have been behind
        number = bisect_right(self.epochs, snapshot_id.offset, key=lambda entry: entry[1])
        rest = self.epochs[number:]
        if number and snapshot_id.offset < self.end_offset and self.epochs[number - 1][1] <= snapshot_id.offset:
            rest.insert(0, (self.epochs[number - 1][0], snapshot_id.offset))
        self.epochs = rest
        # The newest set below the start is the one the snapshot names; older ones can never be gone back to.
        below = bisect_left(self.history, snapshot_id.offset, key=lambda entry: entry[0])
        del self.history[: max(below - 1, 0)]

    def flushed(self, end_offset: int, generation: int) -> bool:
        if generation != self.generation or end_offset <= self.flushed_offset:
            return False
        self.flushed_offset = end_offset
        return True

    def voters_since(self, high_watermark: int) -> list[VoterSet]:
        """The newest set known to be committed, and those after it."""
        below = bisect_left(self.history, high_watermark, key=lambda entry: entry[0])
        return [voters for _, voters in self.history[max(below - 1, 0) :]]

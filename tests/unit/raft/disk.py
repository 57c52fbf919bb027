"""A disk for one member: what is written, what is synced, and what a crash leaves.

The log's changes since the last sync are kept in order; a crash keeps a prefix of them of any length, so appends and
truncations that were not flushed may or may not have happened.
"""

import random
from dataclasses import dataclass, field

from barnabas.core.raft import LogView, OffsetAndEpoch, PersistentState, VoterSet
from barnabas.core.raft.log import EMPTY
from barnabas.core.raft.messages import BatchSummary


class CutThroughBatch(AssertionError):
    """A log is cut between batches."""


@dataclass(frozen=True)
class Batch:
    base_offset: int
    last_offset: int
    epoch: int
    values: tuple[object, ...]
    voters: VoterSet | None = None

    @property
    def summary(self) -> BatchSummary:
        return BatchSummary(self.base_offset, self.last_offset, self.epoch, self.voters)


@dataclass(frozen=True)
class Snapshot:
    """All batches before its end; as bytes it is as long as it has batches, times ten."""

    id: OffsetAndEpoch
    batches: tuple[Batch, ...]
    voters: VoterSet

    @property
    def size(self) -> int:
        return 10 * len(self.batches)


@dataclass
class Disk:
    directory_id: bytes
    initial_voters: VoterSet | None
    state: PersistentState = field(default_factory=PersistentState)
    snapshot: Snapshot | None = None
    start: OffsetAndEpoch = EMPTY
    log: list[Batch] = field(default_factory=list)
    synced: list[Batch] = field(default_factory=list)
    unsynced: list[tuple[int, int | Batch]] = field(default_factory=list)  # numbered; an offset: truncated there
    written: int = 0

    @property
    def end_offset(self) -> int:
        return self.log[-1].last_offset + 1 if self.log else self.start.offset

    @property
    def last_epoch(self) -> int:
        return self.log[-1].epoch if self.log else self.start.epoch

    def append(self, batch: Batch) -> None:
        assert batch.base_offset == self.end_offset, (batch, self.end_offset)
        self.log.append(batch)
        self._note(batch)

    def truncate(self, end_offset: int) -> None:
        _truncate(self.log, end_offset)
        self._note(end_offset)

    def _note(self, change: int | Batch) -> None:
        self.written += 1
        self.unsynced.append((self.written, change))

    def sync(self, number: int) -> None:
        """All changes up to this one are safe now."""
        while self.unsynced and self.unsynced[0][0] <= number:
            _apply(self.synced, self.unsynced.pop(0)[1])

    def reset(self, snapshot: Snapshot) -> None:
        self.snapshot, self.start = snapshot, snapshot.id
        self.log, self.synced, self.unsynced = [], [], []

    def trim(self, snapshot: Snapshot) -> None:
        self.sync(self.written)  # a truncation that a crash takes back would bring an old tail behind the new start
        self.snapshot = snapshot
        self.start = snapshot.id
        for batches in (self.log, self.synced):
            batches[:] = [batch for batch in batches if batch.base_offset >= snapshot.id.offset]

    def crash(self, rng: random.Random) -> None:
        self.sync(self.written - rng.randint(0, len(self.unsynced)))
        self.unsynced.clear()
        self.log = list(self.synced)

    def all_batches(self) -> list[Batch]:
        before = [] if self.snapshot is None or self.start.offset == 0 else list(self.snapshot.batches)
        return [batch for batch in before if batch.base_offset < self.start.offset] + self.log

    def voters_at(self, offset: int) -> VoterSet:
        found = [batch.voters for batch in self.all_batches() if batch.voters and batch.last_offset < offset]
        return found[-1] if found else self.initial_voters or VoterSet(())

    def view(self) -> LogView:
        epochs: list[tuple[int, int]] = []
        voters: list[tuple[int, VoterSet]] = []
        if self.start.offset:
            assert self.snapshot is not None
            voters.append((self.start.offset - 1, self.snapshot.voters))
        elif self.initial_voters is not None:
            voters.append((-1, self.initial_voters))
        for batch in self.log:
            if not epochs or epochs[-1][0] != batch.epoch:
                epochs.append((batch.epoch, batch.base_offset))
            if batch.voters is not None:
                voters.append((batch.last_offset, batch.voters))
        return LogView(
            end_offset=self.end_offset,
            epochs=epochs,
            start=self.start,
            snapshot=self.snapshot.id if self.snapshot else None,
            high_watermark=self.start.offset,
            voters=voters,
        )


def _apply(batches: list[Batch], change: int | Batch) -> None:
    if isinstance(change, int):
        _truncate(batches, change)
    else:
        batches.append(change)


def _truncate(batches: list[Batch], end_offset: int) -> None:
    while batches and batches[-1].base_offset >= end_offset:
        batches.pop()
    if batches and batches[-1].last_offset >= end_offset:
        raise CutThroughBatch(f"cut through a batch at {end_offset}")

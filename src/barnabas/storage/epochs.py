"""`leader-epoch-checkpoint`: at which offset each leader epoch began (KIP-101).

A follower that returns asks where its last epoch ended and cuts its log there; so the history must agree with the
log. It is kept in memory and written before a flush is counted as done: the epochs of unflushed batches stand in
their headers, and recovery reads them from there.
"""

from bisect import bisect_right

from barnabas.storage.checkpoints import read_lines, write_lines
from barnabas.storage.disk import Disk

UNDEFINED = -1


class LeaderEpochs:
    __slots__ = ("_disk", "_path", "dirty", "entries", "latest", "on_disk")

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self.entries: list[tuple[int, int]] = []  # (epoch, first offset), both ascending
        self.latest = UNDEFINED
        self.dirty = False
        self.on_disk = False  # there is a file, right or wrong

    def load(self) -> None:
        """What the file says, up to the first entry that does not ascend."""
        self.on_disk = True
        for fields in read_lines(self._disk, self._path) or ():
            try:
                epoch, start_offset = (int(field) for field in fields)
            except ValueError:
                break
            if self.entries and (epoch <= self.latest or start_offset < self.entries[-1][1]):
                break
            self.entries.append((epoch, start_offset))
            self.latest = epoch

    def write(self, *, sync: bool = True) -> bool:
        """Put it on disk when it has changed. Safe beside an `assign` in the thread of the loop: the list is copied."""
        if not self.dirty:
            return False
        self.dirty = False
        self.on_disk = True
        try:
            write_lines(self._disk, self._path, (f"{epoch} {start}" for epoch, start in list(self.entries)), sync=sync)
        except Exception:
            self.dirty = True
            raise
        return True

    def assign(self, epoch: int, start_offset: int) -> None:
        """From this offset on, batches carry this epoch. Entries that contradict it are gone."""
        if epoch < 0 or epoch == self.latest:
            return
        self._replace([entry for entry in self.entries if entry[0] < epoch and entry[1] < start_offset])
        assert not self.entries or (self.entries[-1][0] < epoch and self.entries[-1][1] < start_offset)
        self.entries.append((epoch, start_offset))
        self.latest = epoch

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(largest known epoch not above `epoch`, offset where it ended); (-1, -1) unknown. As OffsetForLeaderEpoch."""
        if epoch < 0 or not self.entries or epoch > self.latest:
            return UNDEFINED, UNDEFINED
        assert self.entries[-1][1] <= log_end_offset, "an epoch that begins after the log's end"
        if epoch == self.latest:
            return epoch, log_end_offset
        following = bisect_right(self.entries, epoch, key=lambda entry: entry[0])
        end_offset = self.entries[following][1]
        return (self.entries[following - 1][0] if following else epoch), end_offset

    def first_offset_from(self, epoch: int) -> int | None:
        """Where the first epoch that is not below `epoch` began; None: there is none."""
        return next((start for known, start in self.entries if known >= epoch), None)

    def epoch_for(self, offset: int) -> int:
        """The epoch of the batch at `offset`, -1 when the history does not reach so far back."""
        number = bisect_right(self.entries, offset, key=lambda entry: entry[1])
        return self.entries[number - 1][0] if number else UNDEFINED

    def truncate_from_end(self, end_offset: int) -> None:
        if self.entries and self.entries[-1][1] >= end_offset:
            self._replace([entry for entry in self.entries if entry[1] < end_offset])

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget epochs that ended before `start_offset`; the one that holds it now begins there."""
        number = bisect_right(self.entries, start_offset, key=lambda entry: entry[1])
        if number and self.entries[number - 1][1] < start_offset:
            self._replace([(self.entries[number - 1][0], start_offset), *self.entries[number:]])

    def clear(self) -> None:
        if self.entries:
            self._replace([])

    def _replace(self, entries: list[tuple[int, int]]) -> None:
        self.entries = entries
        self.latest = entries[-1][0] if entries else UNDEFINED
        self.dirty = True

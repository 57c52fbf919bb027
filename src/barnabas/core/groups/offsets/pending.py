"""Offsets that wait for the end of their transaction: written, but they count only when the transaction is committed.

Until then a reader that insists on stable offsets is told to come again. The order in which offsets were written
decides which one counts in the end, not the order in which transactions end: a commit that was written later, plain
or of another transaction that ended sooner, is not overwritten.
"""

from collections.abc import Iterator

from barnabas.core.groups.records.offset_commit import CommittedOffset

Key = tuple[str, str, int]  # group, topic, partition


class PendingOffsets:
    __slots__ = ("_by_producer", "_counts", "_newest", "_written")

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[Key, tuple[int, CommittedOffset]]] = {}
        self._counts: dict[Key, int] = {}  # how many transactions wait with an offset for this key
        self._newest: dict[Key, int] = {}  # the newest write that counts already, of keys that somebody waits with
        self._written = 0

    def add(self, producer_id: int, key: Key, offset: CommittedOffset) -> None:
        self._written += 1
        waiting = self._by_producer.setdefault(producer_id, {})
        if key not in waiting:
            self._counts[key] = self._counts.get(key, 0) + 1
        waiting[key] = (self._written, offset)

    def overtaken(self, key: Key) -> None:
        """The key was committed or deleted outside of any transaction: what was written before no longer counts."""
        self._written += 1
        if key in self._counts:
            self._newest[key] = self._written

    def end(self, producer_id: int, commit: bool) -> Iterator[tuple[Key, CommittedOffset]]:
        """Take a producer's offsets out; gives those that count from now on."""
        for key, (written, offset) in self._by_producer.pop(producer_id, {}).items():
            self._counts[key] -= 1
            if commit and written > self._newest.get(key, 0):
                self._newest[key] = written
                yield key, offset
            if not self._counts[key]:
                del self._counts[key]
                self._newest.pop(key, None)

    def is_waiting(self, key: Key) -> bool:
        return key in self._counts

    def has_group(self, group_id: str) -> bool:
        return any(key[0] == group_id for key in self._counts)

    def of_group(self, group_id: str) -> list[Key]:
        return [key for key in self._counts if key[0] == group_id]

"""The records that were fetched but not handed out yet, and what may be committed.

Records come from librdkafka by the batch (that is what makes reading fast) and leave one by one. What was handed out is
only remembered as a place in the batch: nothing is counted for each record, and the offsets are worked out when
somebody asks. "Finished" means that the program has asked for the next one; the record in hand is not finished yet.

With `keeps_beginning` it also knows where each partition's uncommitted records begin, for whoever has to go back there.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from barnabas.client.common.rdkafka import RawMessage
from barnabas.model.ids import TopicPartition

Offsets = dict[TopicPartition, int]


class Buffer:
    def __init__(self, keeps_beginning: bool = False) -> None:
        self._batch: list[RawMessage] = []
        self._next = 0
        self._keeps_beginning = keeps_beginning
        self.beginning: Offsets = {}  # the first offset of each partition that was fetched since `forget_progress`
        self._progress: Offsets = {}  # what earlier batches got to: the next offset of each partition

    def take(self) -> RawMessage | None:
        """The next record, which is then in hand; None when there is none left."""
        try:
            raw = self._batch[self._next]
        except IndexError:
            return None
        self._next += 1
        return raw

    def put_back(self) -> None:
        """The record in hand could not be handed out; it is the next one again."""
        self._next -= 1

    def refill(self, batch: list[RawMessage]) -> None:
        """For an empty buffer only. Asking for more finishes everything that was handed out."""
        assert self._next == len(self._batch)
        self._progress = self.progress(finished_only=False)
        self._batch = batch
        self._next = 0
        if self._keeps_beginning:
            self._note(batch)

    def append(self, raw: RawMessage) -> None:
        self._batch.append(raw)
        if self._keeps_beginning:
            self._note([raw])

    def _note(self, batch: Sequence[RawMessage]) -> None:
        for raw in batch:
            self.beginning.setdefault(TopicPartition(raw.topic(), raw.partition()), raw.offset())

    @property
    def waiting(self) -> int:
        return len(self._batch) - self._next

    def progress(self, finished_only: bool) -> Offsets:
        """The next offset to read in each partition that was touched since `forget`."""
        offsets = dict(self._progress)
        end = self._next - 1 if finished_only else self._next
        for raw in self._batch[:end]:  # offsets rise within a partition, so the last one wins
            offsets[TopicPartition(raw.topic(), raw.partition())] = raw.offset() + 1
        return offsets

    def forget_progress(self, keep_in_hand: bool) -> None:
        """After a commit: what is committed need not be offered again."""
        cut = max(0, self._next - 1) if keep_in_hand else self._next
        del self._batch[:cut]
        self._next -= cut
        self._progress = {}
        if self._keeps_beginning:
            self.beginning = {}
            self._note(self._batch)

    def first_waiting(self) -> Offsets:
        """The offset of the first record of each partition that was fetched and not handed out."""
        offsets: Offsets = {}
        for raw in self._batch[self._next :]:
            offsets.setdefault(TopicPartition(raw.topic(), raw.partition()), raw.offset())
        return offsets

    def last_waiting(self) -> Offsets:
        """Where each partition stands once everything fetched is handed out."""
        return {TopicPartition(raw.topic(), raw.partition()): raw.offset() + 1 for raw in self._batch[self._next :]}

    def drop(self, partitions: Container[TopicPartition]) -> None:
        """Forgets these partitions altogether: they were taken away, or the reader went elsewhere in them."""
        self._progress = {each: offset for each, offset in self._progress.items() if each not in partitions}
        self.beginning = {each: offset for each, offset in self.beginning.items() if each not in partitions}
        handed = self._kept(self._batch[: self._next], partitions)
        self._batch = handed + self._kept(self._batch[self._next :], partitions)
        self._next = len(handed)

    @staticmethod
    def _kept(batch: Sequence[RawMessage], partitions: Container[TopicPartition]) -> list[RawMessage]:
        return [raw for raw in batch if TopicPartition(raw.topic(), raw.partition()) not in partitions]

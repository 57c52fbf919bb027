"""Is this batch new, a repeat, or out of order? One partition's memory of its producers (KIP-98, KIP-360, KIP-890).

A producer numbers its records per partition. For each producer id the machine keeps the epoch and the last five batches
(what a client may have in flight), and gives one verdict a batch:

| what arrives                                         | verdict                          |
|------------------------------------------------------|----------------------------------|
| a producer never seen here                           | new, whatever its sequence (1)   |
| an older epoch                                       | INVALID_PRODUCER_EPOCH           |
| a newer epoch, sequence 0                            | new                              |
| a newer epoch, another sequence                      | OUT_OF_ORDER_SEQUENCE_NUMBER     |
| the sequence after the last one                      | new                              |
| exactly one of the last five batches                 | duplicate: its offset once more  |
| anything else                                        | OUT_OF_ORDER_SEQUENCE_NUMBER     |
| new, no transaction's, while one of its own is open  | INVALID_TXN_STATE                |
| a producer never seen here, the table full           | NOT_ENOUGH_REPLICAS (2)          |

(1) In a transaction of KIP-890 each partition begins at sequence 0, so another one is OUT_OF_ORDER_SEQUENCE_NUMBER: the
first batch was lost or overtaken.
(2) Kafka keeps every producer until `producer.id.expiration.ms` (a day). Here their number has a bound. A full table
makes room by dropping producers that have been idle for longer than any client repeats a batch; when there are none,
the new producer is told to try again. A producer that is at work is never dropped: its repeats would be appended twice.

Idle means: nothing was appended by it here, by this node's clock. A batch's own timestamps say nothing about that (a
producer that copies old records stamps them in the past).

A transaction is open here from its first batch to its marker. While one is open, or its marker is not yet safe, nothing
from its first offset on is stable: `first_unstable` is the bound of read_committed.

The state is rebuilt by replaying batches over a snapshot, so it holds nothing that the log does not.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from barnabas.model.errors import ErrorCode, RefusedBatch
from barnabas.model.limits import (
    PRODUCER_IDLE_BEFORE_DROP_MS,
    PRODUCERS_PER_NODE_MAX,
    PRODUCERS_PER_PARTITION_MAX,
)
from barnabas.model.producers import ProducerEntry
from barnabas.wire.batch import TRANSACTIONAL_BIT, BatchHeader

BATCHES_REMEMBERED = 5  # max.in.flight.requests.per.connection of an idempotent producer
_SEQUENCES = 0x8000_0000  # sequences run from 0 to the largest int32 and begin again
NO_TRANSACTION = -1
_NO_OFFSET = 1 << 62  # above all of them
_new_tuple = tuple.__new__  # every batch pays: a named tuple's own constructor is a call more
_MAKE_ROOM_INTERVAL_MS = 1_000  # a full table is searched (5 ms) this often at most, however many new producers come


class AppendedBatch(NamedTuple):
    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class Marker(NamedTuple):
    """The end of a transaction as its coordinator orders it."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    commit: bool
    strictly_newer: bool = False  # transaction version 2: a marker carries an epoch above that of its data


class _Producer:
    __slots__ = (
        "active_ms",
        "batches",
        "coordinator_epoch",
        "endings",
        "epoch",
        "first_offset",
        "old_endings",
        "timestamp",
    )

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: list[AppendedBatch] = []  # a list: short-lived producers fill the table, a deque takes 600 bytes
        self.coordinator_epoch = -1
        self.first_offset = NO_TRANSACTION  # of the open transaction
        self.timestamp = -1  # of the last batch or marker, as it claims
        self.active_ms = -1  # when that was appended, by this node's clock
        self.endings = 0  # markers since this partition was opened
        self.old_endings = 0  # those of them whose epoch is that of their data (transaction versions 0 and 1)


class ProducerTotal:
    """Producers that all partitions of a node remember together: counted by the node now and then, kept up between."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    @property
    def is_full(self) -> bool:
        return self.count >= PRODUCERS_PER_NODE_MAX


class Producers:
    """The producers of one partition that have an id."""

    __slots__ = ("_by_id", "_ending", "_full_until_ms", "_open", "total")

    def __init__(self, entries: Iterable[ProducerEntry] = (), now_ms: int = -1) -> None:
        """`entries` of a snapshot do not tell when their producers were last active; they count as active now."""
        self._by_id: dict[int, _Producer] = {}
        self._full_until_ms = -1
        self.total = ProducerTotal()  # the node puts its own here
        self._open: dict[int, int] = {}  # producer id: first offset, and offsets rise: the first entry is the oldest
        self._ending: deque[tuple[int, int]] = deque()  # (first offset, marker's offset), the marker not yet safe
        for entry in sorted(entries, key=lambda entry: entry.current_txn_first_offset):
            self._restore(entry, now_ms)

    def _restore(self, entry: ProducerEntry, now_ms: int) -> None:
        producer = self._by_id[entry.producer_id] = _Producer(entry.producer_epoch)
        producer.coordinator_epoch = entry.coordinator_epoch
        producer.timestamp = entry.last_timestamp
        producer.active_ms = now_ms
        if entry.last_sequence >= 0:
            first = (entry.last_sequence - entry.offset_delta) % _SEQUENCES
            base = entry.last_offset - entry.offset_delta
            batch = AppendedBatch(first, entry.last_sequence, base, entry.last_offset, entry.last_timestamp)
            producer.batches.append(batch)
        if entry.current_txn_first_offset >= 0:
            self._open[entry.producer_id] = producer.first_offset = entry.current_txn_first_offset

    def _has_room(self, now_ms: int) -> bool:
        """For one more producer, when those that are idle have gone."""
        if len(self._by_id) < PRODUCERS_PER_PARTITION_MAX and not self.total.is_full:
            return True
        if now_ms < self._full_until_ms:
            return False
        self._full_until_ms = now_ms + _MAKE_ROOM_INTERVAL_MS
        return self.forget_idle(now_ms - PRODUCER_IDLE_BEFORE_DROP_MS) > 0

    def _new(self, producer_id: int, epoch: int) -> _Producer:
        self.total.count += 1
        producer = self._by_id[producer_id] = _Producer(epoch)
        return producer

    def __len__(self) -> int:
        return len(self._by_id)

    # --- data -------------------------------------------------------------------------------------------------------

    def check(self, header: BatchHeader, now_ms: int, *, begins_at_zero: bool = False) -> AppendedBatch | None:
        """None for a new batch, the batch already in the log for a duplicate; raises when it may not be appended.

        `begins_at_zero`: the sequence of a producer that was never seen here must.
        """
        producer = self._by_id.get(header.producer_id)
        if producer is None:
            if begins_at_zero and header.base_sequence != 0:
                raise _out_of_order(header, 0)
            if not self._has_room(now_ms):
                raise _too_many_producers(header.producer_id)
            return None
        if header.producer_epoch != producer.epoch:
            if header.producer_epoch < producer.epoch:
                raise _old_epoch(header.producer_id, header.producer_epoch, producer.epoch)
            if header.base_sequence != 0:
                raise _out_of_order(header, 0)
            if producer.first_offset >= 0:
                _check_transactional(header)
            return None
        known = producer.batches
        expected = (known[-1].last_sequence + 1) % _SEQUENCES if known else 0
        if header.base_sequence == expected:
            if producer.first_offset >= 0:
                _check_transactional(header)
            return None
        last_sequence = (header.base_sequence + header.last_offset_delta) % _SEQUENCES
        for batch in known:
            if batch.first_sequence == header.base_sequence and batch.last_sequence == last_sequence:
                return batch
        raise _out_of_order(header, expected)

    def appended(self, header: BatchHeader, base_offset: int, now_ms: int) -> None:
        """Remember a batch that is in the log now (at append, and at replay)."""
        _, _, _, _, _, attributes, delta, _, timestamp, producer_id, epoch, first, _ = header
        producer = self._by_id.get(producer_id)
        if producer is None:
            producer = self._new(producer_id, epoch)
        elif producer.epoch != epoch:
            producer.epoch = epoch
            producer.batches.clear()
        batches = producer.batches
        if len(batches) == BATCHES_REMEMBERED:
            del batches[0]
        last = (first + delta) % _SEQUENCES
        batches.append(_new_tuple(AppendedBatch, (first, last, base_offset, base_offset + delta, timestamp)))
        producer.timestamp = timestamp
        producer.active_ms = now_ms
        if attributes & TRANSACTIONAL_BIT and producer.first_offset < 0:
            self._open[producer_id] = producer.first_offset = base_offset

    def opened(self, producer_id: int, producer_epoch: int, offset: int, timestamp: int, now_ms: int) -> None:
        """A coordinator wrote records of a transaction here (committed offsets); they have no sequence."""
        producer = self._by_id.get(producer_id)
        if producer is None:
            producer = self._new(producer_id, producer_epoch)
        elif producer.epoch != producer_epoch:
            producer.epoch = producer_epoch
            producer.batches.clear()
        producer.timestamp = timestamp
        producer.active_ms = now_ms
        if producer.first_offset < 0:
            self._open[producer_id] = producer.first_offset = offset

    # --- transactions -----------------------------------------------------------------------------------------------

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        producer = self._by_id.get(producer_id)
        return producer is not None and producer.first_offset >= 0 and producer.epoch == producer_epoch

    def endings(self, producer_id: int, *, epoch_rises: bool) -> int:
        """How many markers of this producer were written. Who asks a coordinator about a transaction compares before
        and after: when it ended meanwhile, the answer is worth nothing.

        With `epoch_rises` (transaction version 2) markers of that version do not count. EndTxn is answered before its
        markers are written, so the marker of one transaction may come while the coordinator is asked about the next;
        it has the epoch of the next. The marker that ends the next one has a higher epoch, which `check` sees
        (KAFKA-18575, KAFKA-18654).
        """
        producer = self._by_id.get(producer_id)
        if producer is None:
            return 0
        return producer.old_endings if epoch_rises else producer.endings

    def has_newer_epoch(self, producer_id: int, producer_epoch: int) -> bool:
        producer = self._by_id.get(producer_id)
        return producer is not None and producer.epoch > producer_epoch

    def check_marker(self, marker: Marker) -> None:
        """May this marker be written? An older producer epoch or an older coordinator is fenced."""
        producer = self._by_id.get(marker.producer_id)
        if producer is None:
            return
        if marker.producer_epoch < producer.epoch or (
            marker.strictly_newer and marker.producer_epoch == producer.epoch and producer.first_offset >= 0
        ):
            raise _old_epoch(marker.producer_id, marker.producer_epoch, producer.epoch)
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise RefusedBatch(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator epoch {marker.coordinator_epoch}, this partition saw {producer.coordinator_epoch}",
            )

    def marker_appended(self, marker: Marker, offset: int, timestamp: int, now_ms: int) -> int | None:
        """A marker is in the log now; gives the first offset of the transaction it ends, None when none was open."""
        producer = self._by_id.get(marker.producer_id)
        if producer is None:
            producer = self._new(marker.producer_id, marker.producer_epoch)
        elif producer.epoch != marker.producer_epoch:
            producer.epoch = marker.producer_epoch
            producer.batches.clear()
        producer.coordinator_epoch = max(producer.coordinator_epoch, marker.coordinator_epoch)
        producer.timestamp = timestamp
        producer.active_ms = now_ms
        producer.endings += 1
        if not marker.strictly_newer:
            producer.old_endings += 1
        first_offset, producer.first_offset = producer.first_offset, NO_TRANSACTION
        if self._open.pop(marker.producer_id, None) is None:
            return None
        self._ending.append((first_offset, offset))
        return first_offset

    def aborts_before(self, offset: int) -> list[Marker]:
        """What ends the open transactions that began before `offset`: markers in the name of the coordinators that this
        partition last saw, for one of an older coordinator would be refused."""
        return [
            Marker(each, producer.epoch, max(producer.coordinator_epoch, 0), commit=False)
            for each, first in self._open.items()
            if first < offset and (producer := self._by_id[each])
        ]

    def open_since(self, producer_id: int) -> int | None:
        """The first offset of the producer's open transaction."""
        return self._open.get(producer_id)

    def first_open_beside(self, producer_id: int) -> int | None:
        """The first offset of the oldest transaction that is open, this producer's left out."""
        return next((offset for owner, offset in self._open.items() if owner != producer_id), None)

    def trust_nothing(self) -> None:
        """The end of the log was cut, and what the rest says is not read yet: no transaction counts as ended."""
        self._ending.append((0, _NO_OFFSET))

    def first_unstable(self, high_watermark: int) -> int | None:
        """Where the stable part of the log ends, None when all below the high watermark is stable."""
        if not self._open and not self._ending:
            return None
        while self._ending and self._ending[0][1] < high_watermark:
            self._ending.popleft()
        offsets = [first for first, _ in self._ending]
        if self._open:
            offsets.append(next(iter(self._open.values())))
        return min(offsets, default=None)

    # --- replay, snapshot, expiry -------------------------------------------------------------------------------------

    def replay(self, header: BatchHeader, now_ms: int) -> None:
        """A data batch of the log; markers are replayed through `marker_appended`.

        One that compaction has emptied is kept for its sequence: its transaction is over, its marker perhaps gone.
        """
        if header.producer_id < 0:
            return
        if not header.record_count:
            header = header._replace(attributes=header.attributes & ~TRANSACTIONAL_BIT)
        if header.base_sequence >= 0:
            self.appended(header, header.base_offset, now_ms)
        elif header.attributes & TRANSACTIONAL_BIT:
            self.opened(header.producer_id, header.producer_epoch, header.base_offset, header.max_timestamp, now_ms)

    def entries(self) -> list[ProducerEntry]:
        """What a snapshot keeps: of each producer its epoch, its last batch and its open transaction."""
        nothing = AppendedBatch(-1, -1, -1, -1, -1)
        found = []
        for producer_id, producer in self._by_id.items():
            last = producer.batches[-1] if producer.batches else nothing
            found.append(
                ProducerEntry(
                    producer_id=producer_id,
                    producer_epoch=producer.epoch,
                    last_sequence=last.last_sequence,
                    last_offset=last.last_offset,
                    offset_delta=last.last_offset - last.base_offset,
                    last_timestamp=producer.timestamp,
                    coordinator_epoch=producer.coordinator_epoch,
                    current_txn_first_offset=producer.first_offset,
                )
            )
        return found

    def forget_idle(self, since_ms: int) -> int:
        """Drop producers that have not been active since then; never one with an open transaction."""
        idle = [
            producer_id
            for producer_id, producer in self._by_id.items()
            if producer.active_ms < since_ms and producer.first_offset < 0
        ]
        for producer_id in idle:
            del self._by_id[producer_id]
        self.total.count -= len(idle)
        return len(idle)


def _check_transactional(header: BatchHeader) -> None:
    """The producer's transaction is open here. What else it wrote would be committed or aborted with it."""
    if not header.attributes & TRANSACTIONAL_BIT:
        raise RefusedBatch(
            ErrorCode.INVALID_TXN_STATE,
            f"a batch without transaction while one of producer {header.producer_id} is open",
        )


def _too_many_producers(producer_id: int) -> RefusedBatch:
    return RefusedBatch(
        ErrorCode.NOT_ENOUGH_REPLICAS,
        f"no room for producer {producer_id}: too many others have written in the last minutes; try again",
    )


def _old_epoch(producer_id: int, epoch: int, current: int) -> RefusedBatch:
    return RefusedBatch(
        ErrorCode.INVALID_PRODUCER_EPOCH, f"producer {producer_id} sent epoch {epoch}, this partition saw {current}"
    )


def _out_of_order(header: BatchHeader, expected: int) -> RefusedBatch:
    return RefusedBatch(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {header.producer_id} sent sequence {header.base_sequence}, expected {expected}",
    )

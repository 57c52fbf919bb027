"""The state that a partition rebuilds from its log: its producers, its open and its aborted transactions.

Read from the newest snapshot and the batches behind it, at opening and whenever the end of the log was cut. All of
it is in the log.
"""

import time

from barnabas.broker.clock import wall_ms
from barnabas.core.partition.producers import Marker, Producers
from barnabas.storage.indexes.aborted import AbortedTransaction, AbortedTransactions
from barnabas.storage.log import Log
from barnabas.wire.batch import BatchHeader
from barnabas.wire.markers import read_marker

_YIELD_EVERY_BATCHES = 1024  # about 1.5 ms of replay; a busy loop then takes 5 ms


class PartitionState:
    __slots__ = ("aborted", "producers")

    def __init__(self, producers: Producers, aborted: AbortedTransactions) -> None:
        self.producers = producers
        self.aborted = aborted

    @classmethod
    def load(cls, log: Log, transaction_indexes: dict[str, int] | None = None) -> "PartitionState":
        """`transaction_indexes`: names and sizes of the files, if the folder was listed just now. Raises OSError,
        Damaged or ProtocolError where the log cannot be read."""
        offset, entries = log.load_producers()
        state = cls(Producers(entries, wall_ms()), AbortedTransactions(log.folder, disk=log.disk))
        files = log.disk.scan(log.folder) if transaction_indexes is None else transaction_indexes
        state.aborted.load(files, offset)  # of an empty log too: a power loss may have left the files of what it took
        for number, (header, batch) in enumerate(log.batches_from(offset)):
            state.replay(log, header, batch)
            if number % _YIELD_EVERY_BATCHES == 0:
                time.sleep(0)  # in a thread, as in `read_producers`
        return state

    def replay(self, log: Log, header: BatchHeader, batch: memoryview) -> None:
        """Apply one batch of the log."""
        if not header.is_control:
            self.producers.replay(header, wall_ms())
        elif (found := read_marker(batch)) is not None:
            commit, coordinator_epoch = found
            marker = Marker(header.producer_id, header.producer_epoch, coordinator_epoch, commit)
            self.transaction_ended(log, marker, header.base_offset, header.max_timestamp)

    def transaction_ended(self, log: Log, marker: Marker, offset: int, timestamp: int) -> None:
        """A marker lies in the log. Only now: a segment that is rolled for it has a snapshot without it."""
        first_offset = self.producers.open_since(marker.producer_id)
        if first_offset is not None and not marker.commit:
            stable = self.producers.first_open_beside(marker.producer_id)
            entry = AbortedTransaction(
                marker.producer_id, first_offset, offset, offset + 1 if stable is None else stable
            )
            log.unsynced_paths.append(self.aborted.add(entry, log.active_segment.base_offset))
            log.folder_dirty = True
        self.producers.marker_appended(marker, offset, timestamp, wall_ms())


def read_producers(log: Log) -> Producers:
    """The producers of the log as it is now. In any thread while nothing is appended: only reads.

    Raises OSError, Damaged or ProtocolError where the log cannot be read.
    """
    end_offset = log.log_end_offset
    offset, entries = log.snapshots.peek() or (log.log_start_offset, [])
    producers = Producers(entries, wall_ms())
    for number, (header, batch) in enumerate(log.batches_from(offset)):
        if not header.is_control:
            producers.replay(header, wall_ms())
        elif (found := read_marker(batch)) is not None:
            commit, coordinator_epoch = found
            marker = Marker(header.producer_id, header.producer_epoch, coordinator_epoch, commit)
            producers.marker_appended(marker, header.base_offset, header.max_timestamp, wall_ms())
        if number % _YIELD_EVERY_BATCHES == 0:
            time.sleep(0)  # the loop has the interpreter now, not after the 5 ms of sys.getswitchinterval()
        if log.log_end_offset != end_offset or log.closed:
            break  # truncated again, or closed: the result is not used
    return producers

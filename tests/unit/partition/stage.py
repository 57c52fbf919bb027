"""One hosted partition on a real folder, with transactions written to it as clients and coordinators do, and beside it
the plain truth: who wrote what, and what became of it."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.broker.partition.config import PartitionConfig
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.core.cluster.image import PartitionImage
from barnabas.core.partition.producers import Marker
from barnabas.model.ids import TopicPartition
from barnabas.storage.compaction import cleaner
from barnabas.storage.config import LogConfig
from barnabas.storage.disk import DISK, Disk
from barnabas.storage.log import Log
from barnabas.wire.batch import iter_batches
from barnabas.wire.records import Record, build_batch, iter_records
from tests.unit.partition.alone import Alone

SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100, file_delete_delay_ms=0)
COMPACTED = LogConfig(
    segment_bytes=400,
    index_interval_bytes=100,
    file_delete_delay_ms=0,
    cleanup_policy=frozenset({"compact"}),
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=0,
)
NEVER = (1 << 63) - 1
NOW = 1_700_000_000_000


def config(log: LogConfig = SMALL, flush_messages: int = NEVER) -> PartitionConfig:
    return PartitionConfig(
        log=log,
        max_message_bytes=1 << 20,
        flush_messages=flush_messages,
        log_append_time=False,
        timestamp_before_max_ms=NEVER,
        timestamp_after_max_ms=NEVER,
        codec=None,
        codec_level=None,
        keys_required=False,
        min_insync_replicas=1,
    )


@dataclass
class Truth:
    """Every record by its offset, and the outcome of the transaction it belongs to (True for a plain record)."""

    records: dict[int, tuple[bytes, bytes, int | None]] = field(default_factory=dict)  # key, value, transaction
    outcome: dict[int, bool] = field(default_factory=dict)  # of the transactions that ended
    open: dict[int, tuple[int, int]] = field(default_factory=dict)  # producer: transaction, first offset

    def stable_before(self, end: int) -> int:
        return min((first for _, first in self.open.values()), default=end)

    def committed(self, end: int) -> dict[int, bytes]:
        """What a read_committed reader must see: offset -> value."""
        bound = self.stable_before(end)
        return {
            offset: value
            for offset, (_, value, owner) in self.records.items()
            if offset < bound and (owner is None or self.outcome[owner])
        }


class Stage:
    def __init__(
        self,
        folder: Path,
        log: LogConfig = SMALL,
        disk: Disk = DISK,
        *,
        clean: bool = False,
        flush_messages: int = NEVER,
    ) -> None:
        self.folder, self.disk, self.clean = folder, disk, clean
        self.flushes: list[OpenPartition] = []
        self.truth = Truth()
        self.sequences: dict[tuple[int, int], int] = {}
        self.numbers = itertools.count()
        self.hosted = HostedPartition(
            TopicPartition("t", 0),
            bytes(16),
            PartitionImage(1, 0, (1,), (1,), 0, ()),
            config(log, flush_messages),
            self._open_log,
            self.flushes.append,
            Alone(),
        )
        self.partition = self.hosted.open()

    def _open_log(self, partition: HostedPartition) -> tuple[Log, int]:
        return Log.open(self.folder / "t-0", partition.config.log, clean=self.clean, disk=self.disk), 0

    # --- writing

    def write(self, producer: int = -1, count: int = 1, epoch: int = 0, *, keys: int = 3, timestamp: int = NOW) -> int:
        """A batch of a producer's transaction, or a plain one of nobody; gives its first offset."""
        partition, truth = self.partition, self.truth
        base = partition.log.log_end_offset
        sequence = self.sequences.get((producer, epoch), 0)
        rows = [(b"k%d" % ((base + i) % keys), b"%d.%d" % (producer, next(self.numbers))) for i in range(count)]
        data = build_batch(
            [Record(i, timestamp, key, value, ()) for i, (key, value) in enumerate(rows)],
            producer_id=producer,
            producer_epoch=epoch if producer >= 0 else -1,
            base_sequence=sequence if producer >= 0 else -1,
            transactional=producer >= 0,
        )
        appended = partition.appends.append(memoryview(data), 0, len(data), NOW, 9, producer >= 0)
        assert appended.base_offset == base
        self.sequences[producer, epoch] = sequence + count
        owner = None
        if producer >= 0:
            owner, _ = truth.open.setdefault(producer, (next(self.numbers), base))
        truth.records |= {base + i: (key, value, owner) for i, (key, value) in enumerate(rows)}
        return base

    def end(self, producer: int, commit: bool, epoch: int = 0, *, timestamp: int = NOW) -> int:
        offset = self.partition.appends.append_marker(Marker(producer, epoch, 0, commit), timestamp) - 1
        owner, _ = self.truth.open.pop(producer, (None, 0))
        if owner is not None:
            self.truth.outcome[owner] = commit
        return offset

    # --- reading, as a client does

    def seen(self, start: int = 0, *, max_bytes: int = 1 << 20) -> dict[int, bytes]:
        """offset -> value at read_committed: the server's slices and lists, the client's filter."""
        partition = self.partition
        found: dict[int, bytes] = {}
        bound = partition.last_stable_offset
        offset = max(start, partition.log.log_start_offset)
        while offset < bound:
            piece = partition.log.read(offset, max_bytes, bound)
            data = piece.read()
            if not data:
                break
            aborted = sorted(partition.aborted.between(offset, bound), key=lambda entry: entry[1])
            active: set[int] = set()
            for position, header in iter_batches(data):
                while aborted and aborted[0][1] <= header.last_offset:
                    active.add(aborted.pop(0)[0])
                batch = data[position : position + header.size]
                offset = header.next_offset
                if header.is_control:
                    active.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in active):
                    found |= {r.offset: r.value or b"" for r in iter_records(batch) if r.offset >= start}
        return found

    def check(self) -> None:
        """H4 and H5 from every place a reader may stand."""
        end = self.partition.high_watermark
        assert self.partition.last_stable_offset == self.truth.stable_before(end)
        expected = self.truth.committed(end)
        assert self.seen() == expected
        for start in range(0, end, max(1, end // 5)):
            later = {offset: value for offset, value in expected.items() if offset >= start}
            assert self.seen(start, max_bytes=150) == later, start

    # --- leaving and coming back

    def state(self) -> tuple[object, ...]:
        """What must be the same after a restart."""
        partition = self.partition
        # Of the last batches only the newest is in a snapshot; entries() shows no more than that.
        producers = sorted(partition.producers.entries())
        end = partition.log.log_end_offset
        return producers, partition.last_stable_offset, partition.aborted.between(0, end), end

    def killed(self, to: Path) -> Stage:
        """The same partition after kill -9: what was written is there, and nothing else."""
        shutil.copytree(self.folder, to)
        return self._follow(Stage(to, self.hosted.config.log))

    def stopped(self) -> Stage:
        """The same partition after a clean stop."""
        self.partition.log.close(sync=True)
        return self._follow(Stage(self.folder, self.hosted.config.log, self.disk, clean=True))

    def _follow(self, other: Stage) -> Stage:
        other.truth, other.sequences, other.numbers = self.truth, self.sequences, self.numbers
        return other

    def compact(self) -> bool:
        log = self.partition.log
        plan = cleaner.plan(log, NOW + 10_000_000, last_stable_offset=self.partition.last_stable_offset)
        if plan is None:
            return False
        log.swap(plan.run())
        return True

"""Kafka's checkpoint files of a node: each log's recovery point, start offset, first offset not compacted, and high
watermark.

Collected in the thread of the loop, written in another. Any of them may be old or missing: then more is read at
the next start, and a follower fetches more. No record depends on them.
"""

from collections.abc import Callable, Iterable
from threading import Lock

from barnabas.broker.partition.opened import OpenPartition
from barnabas.model.ids import TopicPartition
from barnabas.storage.directory import CLEANER_OFFSETS, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, DataDirectory


class PartitionCheckpoints:
    def __init__(self, data: DataDirectory) -> None:
        self._data = data
        self._writing = Lock()
        self.recovery_points = data.read_checkpoint(RECOVERY_POINTS)
        self.log_starts = data.read_checkpoint(LOG_STARTS)
        self.cleaned_to = data.read_checkpoint(CLEANER_OFFSETS)
        self.high_watermarks = data.read_checkpoint(HIGH_WATERMARKS)
        self._watermarks_changed = False

    def with_records(self) -> set[TopicPartition]:
        """Replicas that had records."""
        return {partition for partition, offset in self.recovery_points.items() if offset > 0}

    def forget(self, partition: TopicPartition) -> None:
        for table in (self.recovery_points, self.log_starts, self.cleaned_to):
            table.pop(partition, None)
        if self.high_watermarks.pop(partition, None) is not None:
            self._watermarks_changed = True

    def keep_only(self, partitions: set[TopicPartition]) -> None:
        """A node that was killed may have checkpoints of replicas that it no longer has."""
        tables = (self.recovery_points, self.log_starts, self.cleaned_to, self.high_watermarks)
        for partition in {known for table in tables for known in table} - partitions:
            self.forget(partition)

    def collect(self, partitions: Iterable[OpenPartition]) -> Callable[[], None]:
        for partition in partitions:
            self.recovery_points[partition.id] = partition.log.recovery_point
            self.log_starts[partition.id] = partition.log.log_start_offset
        points = dict(self.recovery_points)
        starts = {partition: offset for partition, offset in self.log_starts.items() if offset > 0}

        def write() -> None:
            with self._writing:
                self._data.write_checkpoint(RECOVERY_POINTS, points)
                self._data.write_checkpoint(LOG_STARTS, starts)

        return write

    def collect_watermarks(self, partitions: Iterable[OpenPartition]) -> Callable[[], None] | None:
        """Only of partitions with several replicas: of a single one it is the end of the log."""
        changed, self._watermarks_changed = self._watermarks_changed, False
        for partition in partitions:
            if len(partition.partition.image.replicas) > 1:
                offset = partition.high_watermark
                if self.high_watermarks.get(partition.id) != offset:
                    self.high_watermarks[partition.id] = offset
                    changed = True
        if not changed:
            return None
        offsets = dict(self.high_watermarks)

        def write() -> None:
            with self._writing:
                self._data.write_checkpoint(HIGH_WATERMARKS, offsets)

        return write

    def collect_cleaned(self, partition: OpenPartition) -> Callable[[], None]:
        self.cleaned_to[partition.id] = partition.log.first_dirty_offset
        offsets = dict(self.cleaned_to)

        def write() -> None:
            with self._writing:
                self._data.write_checkpoint(CLEANER_OFFSETS, offsets)

        return write

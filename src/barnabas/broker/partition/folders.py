"""The folders of this node's replicas: which exist, whose they are, and how they are opened, removed or moved aside.
Those that no replica of this node has are cleared at the start (upkeep/stray_folders.py).

A folder says by its topic id (`partition.metadata`) which topic it belongs to. One of another topic of the same name is
removed. One that has lost the file is adopted by the topic of its name and gets the file again, unless it cannot be of
that topic. Then its owner is unknown, and it is renamed (Kafka's `-stray`), not removed:

- its topic was not in this node's own copy of the metadata log when the process began, so this node never had a folder
  of it: the topic was deleted and made again while the node was down;
- its log is of a later leader epoch than the topic.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor

from barnabas.broker.metrics.repair_log import RepairLog
from barnabas.broker.partition.checkpoints import PartitionCheckpoints
from barnabas.broker.partition.partition import HostedPartition
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.storage.directory import (
    PARTITION_METADATA,
    DataDirectory,
    read_partition_metadata,
    write_partition_metadata,
)
from barnabas.storage.log import Log
from barnabas.storage.stop_snapshots import AtStop

log = logging.getLogger(__name__)


class PartitionFolders:
    """`knew_topic(topic_id)`: was this topic in the node's own metadata when the process began?"""

    checkpoints: PartitionCheckpoints

    def __init__(self, data: DataDirectory, threads: Executor, knew_topic: Callable[[bytes], bool]) -> None:
        self._data = data
        self._threads = threads
        self._knew_topic = knew_topic
        self.existing: set[TopicPartition] = set()
        self.to_remove: dict[TopicPartition, None] = {}  # of deleted partitions
        self.repairs = RepairLog()

    def load(self) -> None:
        """What is on disk, before anything else is asked of it. In any thread: it takes 0.1 s with 10,000 folders."""
        self._data.remove_doomed()
        self.checkpoints = PartitionCheckpoints(self._data)
        self.existing.update(self._data.partition_directories())
        self._at_stop = self._data.read_producers_at_stop()

    @property
    def sync_filesystem(self) -> Callable[[], None] | None:
        """One flush for all that the logs hold; None where the system has no such call."""
        return self._data.sync_all if self._data.can_sync_all() else None

    def has(self, partition: TopicPartition) -> bool:
        """One that waits to be removed belongs to a deleted topic; `open` renames it."""
        return partition in self.existing and partition not in self.to_remove

    # --- opening ----------------------------------------------------------------------------------------------------

    def open(self, partition: HostedPartition) -> tuple[Log, int]:
        """The log, and the high watermark that was last written down."""
        directory, known = self._data.partition_folder(partition.id), self.checkpoints
        try:
            named = self._check_owner(partition, directory) if partition.id in self.existing else None
            opened = self._open_log(partition, directory)
            if named is None and opened.epochs.latest > partition.leader_epoch:
                opened.close(sync=False)
                self._move_aside(partition.id, "its log is newer than the topic of its name")
                opened = self._open_log(partition, directory)
            if named != partition.topic_id:
                if partition.id in self.existing:
                    log.warning("%s has lost its %s: written again", directory, PARTITION_METADATA)
                path = write_partition_metadata(directory, partition.topic_id, disk=self._data.disk)
                opened.unsynced_paths.append(path)
                opened.folder_dirty = True
                self.existing.add(partition.id)
        except OSError as error:
            log.error("cannot open %s: %s", directory, error.strerror or error)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{partition.id}: {error.strerror or error}") from error
        self._at_stop.pop(partition.id, None)
        opened.first_dirty_offset = known.cleaned_to.get(partition.id, 0)
        self.repairs.opened(partition.id, opened.report)
        return opened, known.high_watermarks.get(partition.id, 0)

    def _check_owner(self, partition: HostedPartition, directory: str) -> bytes | None:
        """Rename or remove the folder when it is of another topic. Gives the topic id that is on disk after that."""
        named = read_partition_metadata(directory, disk=self._data.disk)
        if (named or partition.topic_id) != partition.topic_id or partition.id in self.to_remove:
            self._remove_older(partition.id)
            return None
        if named is None and not self._knew_topic(partition.topic_id):
            self._move_aside(partition.id, "the topic of its name was made while this node was down")
        return named

    def _open_log(self, partition: HostedPartition, directory: str) -> Log:
        known = self.checkpoints
        return Log.open(
            directory,
            partition.config.log,
            clean=self._data.clean,
            recovery_point=known.recovery_points.get(partition.id, 0),
            log_start_offset=known.log_starts.get(partition.id, 0),
            at_stop=self._at_stop.get(partition.id),
            disk=self._data.disk,
        )

    def write_producers_at_stop(
        self, closed: Mapping[TopicPartition, AtStop], broker_epoch: int, *, sync: bool
    ) -> None:
        """Of logs that were closed together, and of those that nobody has opened since the last clean stop."""
        unopened = {partition: known for partition, known in self._at_stop.items() if partition in self.existing}
        try:
            self._data.write_producers_at_stop({**unopened, **closed}, broker_epoch, sync=sync)
        except OSError as error:  # the next start reads more
            log.error("cannot write what is known of producers: %s", error.strerror or error)

    # --- removing and renaming ----------------------------------------------------------------------------------------

    def _move_aside(self, partition: TopicPartition, why: str) -> None:
        """In any thread. Raises OSError: then it stays where it is, and must not be used."""
        path, stray = self._data.partition_path(partition), self._data.move_aside(partition)
        log.warning(
            "%s has lost its %s, and %s: it is kept as %s and not served. "
            "`barnabas log dump` shows what is in it; remove it when that is not needed",
            path,
            PARTITION_METADATA,
            why,
            stray.name,
        )
        self.existing.discard(partition)
        self.checkpoints.forget(partition)

    def _remove_older(self, partition: TopicPartition) -> None:
        """Its folder is that of a deleted topic of the same name."""
        log.warning("%s is what is left of a deleted topic of that name: removed", self._data.partition_path(partition))
        self._remove(partition)
        self.checkpoints.forget(partition)

    def forget(self, partition: TopicPartition) -> None:
        """This node's replica is deleted: its folder waits to be removed."""
        self._at_stop.pop(partition, None)
        if partition in self.existing:
            self.to_remove[partition] = None
        self.checkpoints.forget(partition)

    def _remove(self, partition: TopicPartition) -> None:
        """In any thread."""
        self._threads.submit(self.remove_trees, [self.rename_for_removal(partition)])

    def rename_for_removal(self, partition: TopicPartition) -> str | None:
        """At once, so that the name is free; the files are removed later, as there may be many gigabytes of them."""
        self.to_remove.pop(partition, None)
        self.existing.discard(partition)
        try:
            return str(self._data.doom_partition(partition))
        except OSError as error:
            log.error("cannot remove the folder of %s: %s", partition, error.strerror or error)
            return None

    def remove_trees(self, paths: Iterable[str | None]) -> None:
        for path in paths:
            try:
                if path is not None:
                    self._data.disk.remove_tree(path)
            except OSError as error:
                log.error("cannot remove %s: %s", path, error.strerror or error)

"""The replicas this node hosts, kept in step with the cluster's metadata.

A replica is an object as soon as the metadata says that this node has one; its folder is opened on first use. After an
unclean stop the folders that exist are opened before the node serves anybody, so that recovery does not happen under a
client's request. `get` gives what this node leads, `hosted` any replica it has.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from itertools import islice
from typing import Protocol

from barnabas.broker.metrics.repair_log import RepairLog
from barnabas.broker.partition import HostedPartition, UnopenedPartition
from barnabas.broker.partition_checkpoints import PartitionCheckpoints
from barnabas.broker.partition_config import PartitionConfig, partition_config
from barnabas.broker.surroundings import Surroundings
from barnabas.broker.upkeep.partition_turns import AT_ONCE, HostingTurns, LeavingTurns
from barnabas.core.cluster.image import MetadataImage, TopicImage
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import METADATA_TOPIC, TopicPartition
from barnabas.model.settings import Settings
from barnabas.storage.directory import (
    PARTITION_METADATA,
    DataDirectory,
    read_partition_metadata,
    write_partition_metadata,
)
from barnabas.storage.log import Log

log = logging.getLogger(__name__)

_RECOVERY_THREADS = 4
_CLOSING_THREADS = 4
# From so many logs on, a clean stop flushes the file system once: each log would need about five fsyncs, 4 ms together.
# With fewer of them it is left alone, because it also flushes what others have written to the same disk.
_SYNC_TOGETHER_FROM = 32
_FOLDERS_AT_ONCE = 32  # renamed before others get their turn; one takes 0.05 to 0.5 ms

OnLeadership = Callable[[HostedPartition, bool], None]


class Around(Surroundings, Protocol):
    """What the replicas need, and whoever fills the followers among them."""

    def moved(self, partition: HostedPartition) -> None:
        """This replica is here, with a leader and an epoch that are new to it; or it is deleted."""


class PartitionTable:
    def __init__(
        self,
        data: DataDirectory,
        settings: Callable[[], Settings],
        request_flush: Callable[[HostedPartition], None],
        threads: Executor,
        make_threads: Callable[[int, str], Executor],
        around: Around,
    ) -> None:
        self._node_id = around.node_id
        self._data = data
        self._settings = settings
        self._request_flush = request_flush
        self._threads = threads
        self._make_threads = make_threads
        self._around = around
        self._led: dict[str, dict[int, HostedPartition]] = {}
        self._hosted: dict[str, dict[int, HostedPartition]] = {}
        self._configs: dict[str, PartitionConfig] = {}
        self._on_leadership: dict[str, OnLeadership] = {}  # by topic
        self.checkpoints = PartitionCheckpoints(data)
        self._existing = set(data.partition_directories())
        self._repairs = RepairLog()
        self.unusable: dict[TopicPartition, KafkaError] = {}  # could not be recovered, and why
        self._folders_to_remove: dict[TopicPartition, None] = {}
        self._hosting = HostingTurns(self._host)
        self._leaving = LeavingTurns(self._let_go, self._remove_folders)
        self._room = 0  # how many more partitions the present change may host or let go at once
        # A folder that held something when it was last written down is gone: this node's logs are not what they were.
        self.lost = self.checkpoints.known_to_hold() - self._existing

    def get(self, topic: str, index: int) -> HostedPartition | None:
        """The partition, if this node leads it."""
        led = self._led.get(topic)
        found = led.get(index) if led is not None else None
        if found is None and topic in self._hosting.waiting:
            self._hosting.now(topic, index)
            return self._led.get(topic, {}).get(index)
        return found

    def hosted(self, topic: str, index: int) -> HostedPartition | None:
        """This node's replica of the partition."""
        hosted = self._hosted.get(topic)
        found = hosted.get(index) if hosted is not None else None
        return self._hosting.now(topic, index) if found is None and topic in self._hosting.waiting else found

    def __iter__(self) -> Iterator[HostedPartition]:
        self._hosting.all()
        for hosted in self._hosted.values():
            yield from hosted.values()

    def led(self) -> Iterator[HostedPartition]:
        self._hosting.all()
        for led in self._led.values():
            yield from led.values()

    def open_ones(self) -> Iterator[HostedPartition]:
        return (partition for partition in self if partition.is_open)

    def has_data(self, partition: HostedPartition) -> bool:
        """Does it have a folder, open or not?"""
        return partition.is_open or self._has_folder(partition.id)

    def _has_folder(self, partition: TopicPartition) -> bool:
        """One that waits to be removed is that of a deleted topic; `_open` puts it out of the way."""
        return partition in self._existing and partition not in self._folders_to_remove

    def may_open(self, partition: HostedPartition) -> bool:
        """Open, or has a folder that recovery did not refuse: opening such a one may read all of it again, and is left
        to the first request that needs it."""
        return partition.is_open or (self._has_folder(partition.id) and partition.id not in self.unusable)

    def on_leadership(self, topic: str, then: OnLeadership) -> None:
        """`then(partition, leads)` of a partition of this topic: this node begins to lead it (perhaps anew, in a later
        epoch), or no longer does."""
        self._on_leadership[topic] = then

    # --- metadata ---------------------------------------------------------------------------------------------------

    def follow(self, old: MetadataImage, new: MetadataImage, *, settings_changed: bool) -> None:
        """Host what is new, let go what is gone, take over changed settings, leaders and epochs; thousands in turns."""
        if old.topics is new.topics and not settings_changed:
            return
        self._room = AT_ONCE
        for name, topic in old.topics.items():
            known = new.topics.get(name)
            if known is None or known.id != topic.id:
                self._remove_topic(name)
        for name, topic in new.topics.items():
            before = old.topics.get(name)
            if settings_changed or before is not topic:
                self._update(topic, None if before is None or before.id != topic.id else before, settings_changed)

    def _update(self, topic: TopicImage, before: TopicImage | None, settings_changed: bool) -> None:
        self._hosting.rest(topic.name)
        self._leaving.rest(topic.name)  # a deleted topic of that name
        same_settings = before is not None and before.configs is topic.configs and not settings_changed
        if not same_settings or topic.name not in self._configs:
            self._configs[topic.name] = partition_config(self._settings().topic(topic.configs).__getitem__)
        config = self._configs[topic.name]
        hosted = self._hosted.setdefault(topic.name, {})
        known = before.partitions if before is not None else ()
        for index, image in enumerate(topic.partitions[: self._hosted_at_once(topic, len(known))]):
            if same_settings and index < len(known) and known[index] is image:
                continue
            partition = hosted.get(index)
            if self._node_id not in image.replicas:
                if partition is not None:
                    self._remove(topic.name, index)
            elif partition is None:
                self._host(topic, index)
            else:
                led = self.get(topic.name, index) is partition
                leader, epoch = partition.image.leader, partition.leader_epoch
                partition.configure(config)
                partition.follow(image)
                if (leader, epoch) != (image.leader, image.leader_epoch):
                    self._place(partition, led=led)

    def _hosted_at_once(self, topic: TopicImage, known: int) -> int:
        """Up to which partition; the others, all of them new, in turns."""
        end = len(topic.partitions)
        if end - known <= self._room or topic.name in self._on_leadership:
            self._room = max(self._room - (end - known), 0)
            return end
        end, self._room = known + self._room, 0
        self._hosting.later(topic, end)
        return end

    def _host(self, topic: TopicImage, index: int) -> HostedPartition | None:
        """Unless it is hosted, or this node has no replica of it."""
        hosted = self._hosted[topic.name]
        if index in hosted or self._node_id not in topic.partitions[index].replicas:
            return hosted.get(index)
        identity = TopicPartition(topic.name, index)
        partition = hosted[index] = UnopenedPartition(
            identity,
            topic.id,
            topic.partitions[index],
            self._configs[topic.name],
            self._open,
            self._request_flush,
            self._around,
            untouched=not self._has_folder(identity),
        )
        self._place(partition, led=False)
        return partition

    def _place(self, partition: HostedPartition, *, led: bool) -> None:
        """Among those we lead or not, and whoever has to know is told."""
        topic, index = partition.id
        if partition.is_leader and partition.may_lead:
            self._led.setdefault(topic, {})[index] = partition
        elif led:
            self._led[topic].pop(index, None)
        self._around.moved(partition)
        then = self._on_leadership.get(topic)
        leads = partition.is_leader and partition.may_lead
        if then is not None and (led or leads):
            then(partition, leads)

    def replace(self, partition: HostedPartition) -> None:
        """It has been found to have lost records, or has to do without them, or knows its producers again."""
        self._place(partition, led=self.get(*partition.id) is partition)

    def _remove(self, topic: str, index: int) -> None:
        """The topic is gone, or its replica has been moved elsewhere."""
        partition = self._hosted[topic].pop(index)
        led = self.get(topic, index) is partition
        self._forget(partition.id)
        partition.delete()
        self._place(partition, led=led)

    def _remove_topic(self, name: str) -> None:
        self._hosting.waiting.pop(name, None)
        self._configs.pop(name, None)
        hosted = self._hosted.get(name, {})
        if len(hosted) <= self._room or name in self._on_leadership:
            self._room = max(self._room - len(hosted), 0)
            for index in list(hosted):
                self._remove(name, index)
            return
        self._leaving.later(name, list(hosted.values()))
        for partition in hosted.values():
            self._forget(partition.id)
        del self._hosted[name]
        self._led.pop(name, None)

    def _forget(self, partition: TopicPartition) -> None:
        if partition in self._existing:
            if not self._folders_to_remove:
                asyncio.get_running_loop().call_soon(self._remove_folders)
            self._folders_to_remove[partition] = None
        self.unusable.pop(partition, None)
        self.checkpoints.forget(partition)

    def _let_go(self, partition: HostedPartition) -> None:
        partition.delete()
        self._around.moved(partition)

    def _remove_folders(self, _: object = None) -> None:
        """A few at a time, their files in a thread: a topic may have had thousands. A folder that a crash or a stop
        leaves in place is removed at the next start, as one that the metadata does not know."""
        some = 0 if self._leaving else _FOLDERS_AT_ONCE  # their logs are let go first
        doomed = [self._doom(partition) for partition in list(islice(self._folders_to_remove, some))]
        if doomed:
            work = asyncio.get_running_loop().run_in_executor(self._threads, self._remove_trees, doomed)
            work.add_done_callback(self._remove_folders)

    def _doom(self, partition: TopicPartition) -> str | None:
        """Out of the way at once; its files go later, for there may be many gigabytes of them."""
        self._folders_to_remove.pop(partition, None)
        self._existing.discard(partition)
        try:
            return str(self._data.doom_partition(partition))
        except OSError as error:
            log.error("cannot remove the folder of %s: %s", partition, error.strerror or error)
            return None

    def _remove_trees(self, doomed: Iterable[str | None]) -> None:
        for path in doomed:
            try:
                if path is not None:
                    self._data.disk.remove_tree(path)
            except OSError as error:
                log.error("cannot remove %s: %s", path, error.strerror or error)

    def _remove_folder(self, partition: TopicPartition) -> None:
        """In any thread."""
        self._threads.submit(self._remove_trees, [self._doom(partition)])

    # --- disk -------------------------------------------------------------------------------------------------------

    def _open(self, partition: HostedPartition) -> tuple[Log, int]:
        """The log, and the high watermark that was last written down."""
        directory, known = self._data.partition_path(partition.id), self.checkpoints
        try:
            if partition.id in self._existing:
                named = read_partition_metadata(directory, disk=self._data.disk)
                if (named or partition.topic_id) != partition.topic_id or partition.id in self._folders_to_remove:
                    named = None
                    self._remove_older(partition.id)
            else:
                named = None
            opened = self._open_log(partition)
            if named is None and opened.epochs.latest > partition.leader_epoch:
                # Without its name, and newer than the topic ever was: a topic of that name that was deleted.
                opened.close(sync=False)
                self._remove_older(partition.id)
                opened = self._open_log(partition)
            if named != partition.topic_id:
                if partition.id in self._existing:
                    log.warning("%s has lost its %s: written again", directory, PARTITION_METADATA)
                path = write_partition_metadata(directory, partition.topic_id, disk=self._data.disk)
                opened.unsynced_paths.append(path)
                opened.folder_dirty = True
                self._existing.add(partition.id)
        except OSError as error:
            log.error("cannot open %s: %s", directory, error.strerror or error)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{partition.id}: {error.strerror or error}") from error
        opened.first_dirty_offset = known.cleaned_to.get(partition.id, 0)
        self._repairs.opened(partition.id, opened.report)
        return opened, known.high_watermarks.get(partition.id, 0)

    def _open_log(self, partition: HostedPartition) -> Log:
        known = self.checkpoints
        return Log.open(
            self._data.partition_path(partition.id),
            partition.config.log,
            clean=self._data.clean,
            recovery_point=known.recovery_points.get(partition.id, 0),
            log_start_offset=known.log_starts.get(partition.id, 0),
            disk=self._data.disk,
        )

    def _remove_older(self, partition: TopicPartition) -> None:
        """Its folder is that of a deleted topic of the same name."""
        log.warning("%s is what is left of a deleted topic of that name: removed", self._data.partition_path(partition))
        self._remove_folder(partition)
        self.checkpoints.forget(partition)

    def recover(self) -> int:
        """Open every folder that exists, several at a time; gives how many.

        One that cannot be opened (damage, a full disk) is refused to its clients and does not stop the others.
        """
        waiting = [partition for partition in self if partition.id in self._existing]
        began_ms = self._around.steady_ms()
        with self._make_threads(_RECOVERY_THREADS, "recover") as threads:
            count = sum(threads.map(self._opened, waiting))
        if count:
            self._repairs.recovered(count, (self._around.steady_ms() - began_ms) / 1000)
        return count

    def _opened(self, partition: HostedPartition) -> bool:
        try:
            partition.open()
        except KafkaError as error:
            log.error("%s cannot be served: %s", partition.id, error.message)
            self.unusable[partition.id] = error
            return False
        return True

    def remove_strays(self) -> None:
        """Folders of topics that the metadata does not know were deleted while the node was down."""
        known = {partition.id for partition in self} | {TopicPartition(METADATA_TOPIC, 0)}
        for stray in sorted(self._existing - known):
            log.warning("%s is not in the cluster's metadata: its folder is removed", stray)
            self._remove_folder(stray)
            self.checkpoints.forget(stray)

    def collect_checkpoint(self) -> Callable[[], None]:
        """How far each log is known to be on disk, and where each begins; call the result to write it down."""
        return self.checkpoints.collect(self.open_ones())

    def collect_watermarks(self) -> Callable[[], None] | None:
        """The high watermarks; None when they are as they were last written down."""
        return self.checkpoints.collect_watermarks(self.open_ones())

    def collect_cleaned(self, partition: HostedPartition) -> Callable[[], None]:
        """How far this one is compacted; call the result to write it down."""
        return self.checkpoints.collect_cleaned(partition)

    def close(self) -> None:
        """All that the logs hold is on disk when this returns; whoever calls it may say that the stop was clean."""
        self._folders_to_remove.clear()
        self._leaving.close()
        opened = list(self.open_ones())
        with self._make_threads(_CLOSING_THREADS, "flush") as threads:
            if len(opened) < _SYNC_TOGETHER_FROM or not self._data.can_sync_all():
                list(threads.map(HostedPartition.close, opened))
            else:
                list(threads.map(_close_unflushed, opened))
                self._data.sync_all()
                list(threads.map(_unlink_removed, opened))
        self.collect_checkpoint()()
        write = self.collect_watermarks()
        if write is not None:
            write()


def _close_unflushed(partition: HostedPartition) -> None:
    partition.close(sync=False)


def _unlink_removed(partition: HostedPartition) -> None:
    if partition.log.doomed:
        partition.log.unlink_removed()

"""The replicas this node hosts, kept in step with the cluster's metadata.

A replica is an object as soon as the metadata says that this node has one; its folder is opened on first use. After an
unclean stop the folders that exist are opened before the node serves anybody, so that recovery does not happen under a
client's request. `get` gives what this node leads, `hosted` any replica it has.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from itertools import islice
from typing import Protocol

from barnabas.broker.partition.config import PartitionConfig, SharedConfigs
from barnabas.broker.partition.folders import PartitionFolders
from barnabas.broker.partition.host import ReplicaHost
from barnabas.broker.partition.partition import HostedPartition, UnopenedPartition
from barnabas.broker.upkeep.partition_turns import AT_ONCE, ROOM, FollowingTurns, LeavingTurns
from barnabas.core.cluster.image import MetadataImage, TopicImage
from barnabas.model.errors import KafkaError
from barnabas.model.ids import METADATA_TOPIC, TopicPartition
from barnabas.model.settings import Settings
from barnabas.storage.directory import DataDirectory

log = logging.getLogger(__name__)

_RECOVERY_THREADS = 4
_CLOSING_THREADS = 4
_SYNC_TOGETHER_FROM = 32  # logs; as in upkeep/background_flush.py
_FOLDERS_AT_ONCE = 32  # renamed before others get their turn; one takes 0.05 to 0.5 ms

OnLeadership = Callable[[HostedPartition, bool], None]


class Around(ReplicaHost, Protocol):
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
        knew_topic: Callable[[bytes], bool],
    ) -> None:
        self._node_id = around.node_id
        self._data = data
        self._settings = settings
        self._request_flush = request_flush
        self._threads = threads
        self._make_threads = make_threads
        self._replica_host = around
        self._led: dict[str, dict[int, HostedPartition]] = {}
        self._hosted: dict[str, dict[int, HostedPartition]] = {}
        self._configs: dict[str, PartitionConfig] = {}
        self._on_leadership: dict[str, OnLeadership] = {}  # by topic
        self._folders = PartitionFolders(data, threads, knew_topic)
        self.checkpoints = self._folders.checkpoints
        self.unusable: dict[TopicPartition, KafkaError] = {}  # could not be recovered, and why
        self._following = FollowingTurns(self._follow)
        self._leaving = LeavingTurns(self._let_go, self._remove_folders)
        # A folder that held something when it was last written down is gone: this node's logs are not what they were.
        self.lost = self.checkpoints.known_to_hold() - self._folders.existing

    def get(self, topic: str, index: int) -> HostedPartition | None:
        """The partition, if this node leads it."""
        if topic in self._following.waiting:
            self._following.now(topic, index)
        led = self._led.get(topic)
        return led.get(index) if led is not None else None

    def hosted(self, topic: str, index: int) -> HostedPartition | None:
        """This node's replica of the partition."""
        if topic in self._following.waiting:
            self._following.now(topic, index)
        hosted = self._hosted.get(topic)
        return hosted.get(index) if hosted is not None else None

    async def settled(self) -> None:
        """All that the image says has been taken over: from then on `__iter__` gives every partition."""
        await self._following.done()

    def __iter__(self) -> Iterator[HostedPartition]:
        """Those that are hosted by now: new ones of a large change come in turns."""
        for hosted in self._hosted.values():
            yield from hosted.values()

    def led(self) -> Iterator[HostedPartition]:
        for led in self._led.values():
            yield from led.values()

    def open_ones(self) -> Iterator[HostedPartition]:
        return (partition for partition in self if partition.is_open)

    def has_data(self, partition: HostedPartition) -> bool:
        """Does it have a folder, open or not?"""
        return partition.is_open or self._folders.has(partition.id)

    def may_open(self, partition: HostedPartition) -> bool:
        """Open, or has a folder that recovery did not refuse: opening such a one may read all of it again, and is left
        to the first request that needs it."""
        return partition.is_open or (self._folders.has(partition.id) and partition.id not in self.unusable)

    def on_leadership(self, topic: str, then: OnLeadership) -> None:
        """`then(partition, leads)` of a partition of this topic: this node begins to lead it (perhaps anew, in a later
        epoch), or no longer does."""
        self._on_leadership[topic] = then

    # --- metadata ---------------------------------------------------------------------------------------------------

    def follow(self, old: MetadataImage, new: MetadataImage, *, settings_changed: bool) -> None:
        """Host what is new, let go what is gone, take over changed settings, leaders and epochs; thousands in turns."""
        if old.topics is new.topics and not settings_changed:
            return
        room = AT_ONCE  # how many more partitions are let go at once
        for name, topic in old.topics.items():
            known = new.topics.get(name)
            if known is None or known.id != topic.id:
                room = self._remove_topic(name, room)
        room = ROOM
        configs = SharedConfigs(self._settings())
        for name, topic in new.topics.items():
            before = old.topics.get(name)
            if settings_changed or before is not topic:
                same = before is not None and before.configs is topic.configs and not settings_changed
                if not same or name not in self._configs:
                    self._configs[name] = configs.of(topic.configs)
                room = self._update(topic, room)

    def _update(self, topic: TopicImage, room: int) -> int:
        self._leaving.rest(topic.name)  # a deleted topic of that name
        self._hosted.setdefault(topic.name, {})
        if topic.name not in self._on_leadership:
            return self._following.begin(topic, room)
        for index in range(len(topic.partitions)):
            self._follow(topic, index)
        return room

    def _follow(self, topic: TopicImage, index: int) -> bool:
        """This node's replica becomes what the image says of it; False when it was that."""
        image, config = topic.partitions[index], self._configs[topic.name]
        partition = self._hosted[topic.name].get(index)
        if partition is None:
            if self._node_id not in image.replicas:
                return False
            self._host(topic, index)
        elif partition.image is image and partition.config is config:
            return False
        elif self._node_id not in image.replicas:
            self._remove(topic.name, index)
        else:
            led = self._leads(partition)
            leader, epoch = partition.image.leader, partition.leader_epoch
            partition.configure(config)
            partition.follow(image)
            if (leader, epoch) != (image.leader, image.leader_epoch):
                self._place(partition, led=led)
        return True

    def _leads(self, partition: HostedPartition) -> bool:
        return self._led.get(partition.id.topic, {}).get(partition.id.partition) is partition

    def _host(self, topic: TopicImage, index: int) -> None:
        identity = TopicPartition(topic.name, index)
        partition = self._hosted[topic.name][index] = UnopenedPartition(
            identity,
            topic.id,
            topic.partitions[index],
            self._configs[topic.name],
            self._folders.open,
            self._request_flush,
            self._replica_host,
            untouched=not self._folders.has(identity),
        )
        self._place(partition, led=False)

    def _place(self, partition: HostedPartition, *, led: bool) -> None:
        """Among those we lead or not, and whoever has to know is told."""
        topic, index = partition.id
        if partition.is_leader and partition.may_lead:
            self._led.setdefault(topic, {})[index] = partition
        elif led:
            self._led[topic].pop(index, None)
        self._replica_host.moved(partition)
        then = self._on_leadership.get(topic)
        leads = partition.is_leader and partition.may_lead
        if then is not None and (led or leads):
            then(partition, leads)

    def replace(self, partition: HostedPartition) -> None:
        """It has been found to have lost records, or has to do without them, or knows its producers again."""
        self._place(partition, led=self._leads(partition))

    def _remove(self, topic: str, index: int) -> None:
        """The topic is gone, or its replica has been moved elsewhere."""
        partition = self._hosted[topic].pop(index)
        led = self._leads(partition)
        self._forget(partition.id)
        partition.delete()
        self._place(partition, led=led)

    def _remove_topic(self, name: str, room: int) -> int:
        self._following.waiting.pop(name, None)
        self._configs.pop(name, None)
        hosted = self._hosted.get(name, {})
        count = len(hosted)
        if count <= room or name in self._on_leadership:
            for index in list(hosted):
                self._remove(name, index)
            room = max(room - count, 0)
        else:
            self._leaving.later(name, list(hosted.values()))
        self._hosted.pop(name, None)
        self._led.pop(name, None)
        return room

    def _forget(self, partition: TopicPartition) -> None:
        if not self._folders.to_remove and partition in self._folders.existing:
            asyncio.get_running_loop().call_soon(self._remove_folders)
        self._folders.forget(partition)
        self.unusable.pop(partition, None)

    def _let_go(self, partition: HostedPartition) -> None:
        """One of a deleted topic, which is no longer found."""
        self._forget(partition.id)
        partition.delete()
        self._replica_host.moved(partition)

    def _remove_folders(self, _: object = None) -> None:
        """A few at a time, their files in a thread: a topic may have had thousands. A folder that a crash leaves in
        place is moved aside at the next start, as one that the metadata does not know (upkeep/stray_folders.py)."""
        some = 0 if self._leaving else _FOLDERS_AT_ONCE  # their logs are let go first
        doomed = [self._folders.doom(partition) for partition in list(islice(self._folders.to_remove, some))]
        if doomed:
            work = asyncio.get_running_loop().run_in_executor(self._threads, self._folders.remove_trees, doomed)
            work.add_done_callback(self._remove_folders)

    # --- disk -------------------------------------------------------------------------------------------------------

    def recover(self) -> int:
        """Open every folder that exists, several at a time; gives how many.

        One that cannot be opened (damage, a full disk) is refused to its clients and does not stop the others.
        """
        waiting = [partition for partition in self if partition.id in self._folders.existing]
        began_ms = self._replica_host.steady_ms()
        with self._make_threads(_RECOVERY_THREADS, "recover") as threads:
            count = sum(threads.map(self.try_open, waiting))
        if count:
            self._folders.repairs.recovered(count, (self._replica_host.steady_ms() - began_ms) / 1000)
        return count

    def try_open(self, partition: HostedPartition) -> bool:
        """False when it cannot be opened: then it is among the `unusable`."""
        try:
            partition.open()
        except KafkaError as error:
            log.error("%s cannot be served: %s", partition.id, error.message)
            self.unusable[partition.id] = error
            return False
        return True

    def folders_without_replica(self) -> list[TopicPartition]:
        """What is written down of partitions that are not here is forgotten: if they come back, they begin anew."""
        hosted = {partition.id for partition in self}
        self.checkpoints.keep_only(hosted | self._folders.existing)
        return sorted(self._folders.existing - hosted - {TopicPartition(METADATA_TOPIC, 0)})

    def forget_folder(self, stray: TopicPartition) -> None:
        self._folders.existing.discard(stray)
        self.checkpoints.forget(stray)

    @property
    def sync_filesystem(self) -> Callable[[], None] | None:
        """One flush for all that the logs hold; None where the system has no such call."""
        return self._data.sync_all if self._data.can_sync_all() else None

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
        self._following.waiting.clear()
        for deleted in self._leaving.take():
            deleted.delete()
            self._folders.forget(deleted.id)
        for partition in list(self._folders.to_remove):  # the next start removes what has that name
            self._folders.doom(partition)
        opened = list(self.open_ones())
        with self._make_threads(_CLOSING_THREADS, "flush") as threads:
            sync_filesystem = self.sync_filesystem
            if len(opened) < _SYNC_TOGETHER_FROM or sync_filesystem is None:
                list(threads.map(HostedPartition.close, opened))
            else:
                list(threads.map(_close_unflushed, opened))
                sync_filesystem()
                list(threads.map(_unlink_removed, opened))
        self.collect_checkpoint()()
        if (write := self.collect_watermarks()) is not None:
            write()


def _close_unflushed(partition: HostedPartition) -> None:
    partition.close(sync=False)


def _unlink_removed(partition: HostedPartition) -> None:
    if partition.log.doomed:
        partition.log.unlink_removed()

"""The replicas this node hosts, as the cluster's metadata assigns them.

A replica is an object as soon as the metadata says that this node has one; its folder is opened by `open()`. After an
unclean stop the folders that exist are opened before the node serves clients, so that no request waits for recovery.
`get` gives what this node leads, `hosted` any replica it has.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from functools import partial
from itertools import islice
from typing import Protocol

from barnabas.broker.metrics.counts import TopicTable
from barnabas.broker.partition.config import PartitionConfig, SharedConfigs
from barnabas.broker.partition.folders import PartitionFolders
from barnabas.broker.partition.host import ReplicaHost
from barnabas.broker.partition.image_turns import CHECKS_A_TURN, PARTITIONS_A_TURN, ApplyTurns, DeletionTurns
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.slow_openings import BeingOpened
from barnabas.core.cluster.image import MetadataImage, TopicImage
from barnabas.model.errors import KafkaError
from barnabas.model.ids import METADATA_TOPIC, TopicPartition
from barnabas.model.settings import Settings
from barnabas.storage.stop_snapshots import AtStop

log = logging.getLogger(__name__)

_RECOVERY_THREADS = 4
_CLOSING_THREADS = 4
_CLOSED_AT_ONCE = 64  # by a thread
_SYNC_TOGETHER_FROM = 32  # logs; as in upkeep/background_flush.py
_FOLDERS_AT_ONCE = 32  # renamed before others get their turn; one takes 0.05 to 0.5 ms

OnLeadership = Callable[[HostedPartition, bool], None]


class TableHost(ReplicaHost, Protocol):
    """What the replicas need of the node, and the table itself."""

    def assignment_changed(self, partition: HostedPartition) -> None:
        """This replica is new, has another leader or leader epoch, or is deleted."""


class PartitionTable:
    def __init__(
        self,
        folders: PartitionFolders,
        settings: Callable[[], Settings],
        request_flush: Callable[[OpenPartition], None],
        threads: Executor,
        make_threads: Callable[[int, str], Executor],
        host: TableHost,
    ) -> None:
        self._node_id = host.node_id
        self._settings = settings
        self._request_flush = request_flush
        self._threads = threads
        self._make_threads = make_threads
        self._host = host
        self._led: dict[str, dict[int, HostedPartition]] = {}
        self._hosted: dict[str, dict[int, HostedPartition]] = {}
        self._configs: dict[str, PartitionConfig] = {}
        self._on_leadership: dict[str, OnLeadership] = {}  # by topic
        self.counts = TopicTable()
        self._folders = folders
        self.checkpoints = self._folders.checkpoints
        self.unusable: dict[TopicPartition, KafkaError] = {}  # could not be recovered, and why
        self._applying = ApplyTurns(self._apply)
        self._deleting = DeletionTurns(self._delete, self._remove_folders)
        # Replicas that had records at the last checkpoint and have no folder now.
        self.lost = self.checkpoints.with_records() - self._folders.existing

    def get(self, topic: str, index: int) -> HostedPartition | None:
        """The partition, if this node leads it."""
        if topic in self._applying.waiting:
            self._applying.now(topic, index)
        led = self._led.get(topic)
        return led.get(index) if led is not None else None

    def hosted(self, topic: str, index: int) -> HostedPartition | None:
        """This node's replica of the partition."""
        if topic in self._applying.waiting:
            self._applying.now(topic, index)
        hosted = self._hosted.get(topic)
        return hosted.get(index) if hosted is not None else None

    async def image_applied(self) -> None:
        """Wait until the image is applied: from then on `__iter__` gives every partition."""
        await self._applying.done()

    def __iter__(self) -> Iterator[HostedPartition]:
        """All replicas that have been created so far; those of a large change are created in turns."""
        for hosted in self._hosted.values():
            yield from hosted.values()

    def led(self) -> Iterator[HostedPartition]:
        for led in self._led.values():
            yield from led.values()

    def open_ones(self) -> Iterator[OpenPartition]:
        return (opened for partition in self if (opened := partition.opened) is not None)

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

    def apply(self, old: MetadataImage, new: MetadataImage, *, settings_changed: bool) -> None:
        """Create and delete replicas, apply changed settings, leaders and epochs; thousands in turns."""
        if old.topics is new.topics and not settings_changed:
            return
        budget = PARTITIONS_A_TURN  # partitions that may still be deleted in this turn
        for name, topic in old.topics.items():
            known = new.topics.get(name)
            if known is None or known.id != topic.id:
                budget = self._remove_topic(name, budget)
        budget = CHECKS_A_TURN
        configs = SharedConfigs(self._settings())
        for name, topic in new.topics.items():
            before = old.topics.get(name)
            if settings_changed or before is not topic:
                same = before is not None and before.configs is topic.configs and not settings_changed
                if not same or name not in self._configs:
                    self._configs[name] = configs.of(topic.configs)
                    before = None
                budget = self._update(topic, budget, before if before is not None and before.id == topic.id else None)

    def _update(self, topic: TopicImage, budget: int, before: TopicImage | None) -> int:
        """`before`: as the topic was, if nothing but its partitions has changed."""
        self._deleting.finish(topic.name)  # a deleted topic of that name
        self._hosted.setdefault(topic.name, {})
        if topic.name not in self._on_leadership:
            return self._applying.begin(topic, budget, before)
        for index in range(len(topic.partitions)):
            self._apply(topic, index)
        return budget

    def _apply(self, topic: TopicImage, index: int) -> bool:
        """This node's replica becomes what the image says of it; False when it was that."""
        image, config = topic.partitions[index], self._configs[topic.name]
        partition = self._hosted[topic.name].get(index)
        if partition is None:
            if self._node_id not in image.replicas:
                return False
            self._add(topic, index)
        elif partition.image is image and partition.config is config:
            return False
        elif self._node_id not in image.replicas:
            self._remove(topic.name, index)
        else:
            led = self._leads(partition)
            leader, epoch = partition.image.leader, partition.leader_epoch
            if image.leader == self._node_id and image.isr != partition.image.isr:
                self.counts.isr_changed(partition.image.isr, image.isr)
            partition.configure(config)
            partition.apply_image(image)
            if (leader, epoch) != (image.leader, image.leader_epoch):
                self._set_leadership(partition, led=led)
        return True

    def _leads(self, partition: HostedPartition) -> bool:
        return self._led.get(partition.id.topic, {}).get(partition.id.partition) is partition

    def _add(self, topic: TopicImage, index: int) -> None:
        identity = TopicPartition(topic.name, index)
        partition = self._hosted[topic.name][index] = HostedPartition(
            identity,
            topic.id,
            topic.partitions[index],
            self._configs[topic.name],
            self._folders.open,
            self._request_flush,
            self._host,
            counts=self.counts.of(topic.name),
            untouched=not self._folders.has(identity),
        )
        self._set_leadership(partition, led=False)

    def _set_leadership(self, partition: HostedPartition, *, led: bool) -> None:
        """Add it to those this node leads, or remove it from them, and inform replication and coordinators."""
        topic, index = partition.id
        if partition.is_leader and partition.may_lead:
            self._led.setdefault(topic, {})[index] = partition
        elif led:
            self._led[topic].pop(index, None)
        self._host.assignment_changed(partition)
        then = self._on_leadership.get(topic)
        leads = partition.is_leader and partition.may_lead
        if then is not None and (led or leads):
            then(partition, leads)

    def recheck_leadership(self, partition: HostedPartition) -> None:
        """It has lost records, is to lead without them, or has read its producers again: may it lead?"""
        self._set_leadership(partition, led=self._leads(partition))

    def _remove(self, topic: str, index: int) -> None:
        """The topic is gone, or its replica has been moved elsewhere."""
        partition = self._hosted[topic].pop(index)
        led = self._leads(partition)
        self._forget_folder(partition.id)
        partition.delete()
        self._set_leadership(partition, led=led)

    def _remove_topic(self, name: str, budget: int) -> int:
        self._applying.waiting.pop(name, None)
        self._configs.pop(name, None)
        hosted = self._hosted.get(name, {})
        for partition in hosted.values():
            partition.count_messages()
        self.counts.forget(name)
        count = len(hosted)
        if count <= budget or name in self._on_leadership:
            for index in list(hosted):
                self._remove(name, index)
            budget = max(budget - count, 0)
        else:
            self._deleting.add(name, list(hosted.values()))
        self._hosted.pop(name, None)
        self._led.pop(name, None)
        return budget

    def _forget_folder(self, partition: TopicPartition) -> None:
        if not self._folders.to_remove and partition in self._folders.existing:
            asyncio.get_running_loop().call_soon(self._remove_folders)
        self._folders.forget(partition)
        self.unusable.pop(partition, None)

    def _delete(self, partition: HostedPartition) -> None:
        """One of a deleted topic."""
        self._forget_folder(partition.id)
        partition.delete()
        self._host.assignment_changed(partition)

    def _remove_folders(self, _: object = None) -> None:
        """A few at a time, their files in a thread: a topic may have had thousands. A folder that a crash leaves in
        place is moved aside at the next start, as one that the metadata does not know (upkeep/stray_folders.py)."""
        some = 0 if self._deleting else _FOLDERS_AT_ONCE  # their logs are closed first
        renamed = [
            self._folders.rename_for_removal(partition) for partition in list(islice(self._folders.to_remove, some))
        ]
        if renamed:
            work = asyncio.get_running_loop().run_in_executor(self._threads, self._folders.remove_trees, renamed)
            work.add_done_callback(self._remove_folders)

    # --- disk -------------------------------------------------------------------------------------------------------

    def recover(self) -> int:
        """Open every folder that exists, several at a time; gives how many.

        One that cannot be opened (damage, a full disk) is refused to its clients and does not stop the others.
        """
        waiting = [partition for partition in self if partition.id in self._folders.existing]
        began_ms = self._host.steady_ms()
        with self._make_threads(_RECOVERY_THREADS, "recover") as threads:
            count = sum(threads.map(partial(self.try_open, wait=True), waiting))
        if count:
            self._folders.repairs.recovered(count, (self._host.steady_ms() - began_ms) / 1000)
        return count

    def try_open(self, partition: HostedPartition, *, wait: bool = False) -> bool:
        """False when it is not open after that: it is among the `unusable`, or being opened by a thread."""
        try:
            partition.open(wait=wait)
        except BeingOpened:
            return False
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
        return self._folders.sync_filesystem

    def collect_checkpoint(self) -> Callable[[], None]:
        """How far each log is known to be on disk, and where each begins; call the result to write it down."""
        return self.checkpoints.collect(self.open_ones())

    def collect_watermarks(self) -> Callable[[], None] | None:
        """The high watermarks; None when they are as they were last written down."""
        return self.checkpoints.collect_watermarks(self.open_ones())

    def collect_cleaned(self, partition: OpenPartition) -> Callable[[], None]:
        """How far this one is compacted; call the result to write it down."""
        return self.checkpoints.collect_cleaned(partition)

    def close(self, broker_epoch: int = -1) -> None:
        """All that the logs hold is on disk when this returns: the stop of this broker epoch is clean."""
        self._applying.waiting.clear()
        for deleted in self._deleting.remove_all():
            deleted.delete()
            self._folders.forget(deleted.id)
        for partition in list(self._folders.to_remove):  # the next start removes what has that name
            self._folders.rename_for_removal(partition)
        opened = list(self.open_ones())
        with self._make_threads(_CLOSING_THREADS, "flush") as threads:
            sync_filesystem = self.sync_filesystem
            if len(opened) < _SYNC_TOGETHER_FROM or sync_filesystem is None:
                list(threads.map(_close, opened))
                self._folders.write_producers_at_stop({}, broker_epoch, sync=True)
            else:
                parts = [opened[at : at + _CLOSED_AT_ONCE] for at in range(0, len(opened), _CLOSED_AT_ONCE)]
                at_stop = {known: found for part in threads.map(_close_together, parts) for known, found in part}
                self._folders.write_producers_at_stop(at_stop, broker_epoch, sync=False)
                sync_filesystem()
                for closed in opened:
                    closed.log.unlink_removed()
        self.collect_checkpoint()()
        if (write := self.collect_watermarks()) is not None:
            write()


def _close(partition: OpenPartition) -> None:
    partition.log.close(sync=True)


def _close_together(partitions: Iterable[OpenPartition]) -> list[tuple[TopicPartition, AtStop]]:
    closed = ((partition.id, partition.log.close_together()) for partition in partitions)
    return [(partition, at_stop) for partition, at_stop in closed if at_stop is not None]

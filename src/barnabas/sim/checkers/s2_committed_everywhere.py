"""S2, the other half: whatever a leader has told to be committed, every replica that is in sync has, and so have at
least min.insync.replicas of its replicas.

In sync is who the newest image says; the leader is the one of its epoch. A machine that lost its memory or its disk may
be short of something until it has registered again: with its registration the controller hears of the loss. A replica
that is down is taken to hold what it held when its process ended.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.partition.opened import OpenPartition
from barnabas.core.cluster.image import MetadataImage, PartitionImage, TopicImage
from barnabas.sim import inspection

if TYPE_CHECKING:
    from barnabas.sim.computer import Computer
    from barnabas.sim.world import World


class CommittedEverywhere:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._ends: dict[tuple[int, bytes, int], int] = {}  # (node, topic id, index): where its log ended at its death
        self.problems: list[str] = []

    def watch(self) -> Callable[[], None]:
        """Look whenever a high watermark moves; gives how to stop."""
        advance = OpenPartition.advance_to

        def watched(opened: OpenPartition, offset: int, size: int) -> None:
            advance(opened, offset, size)
            partition, image = opened.partition, self._world.newest_image()
            topic = image.topics.get(partition.id.topic) if image is not None else None
            if image is not None and topic is not None and topic.id == partition.topic_id and partition.is_leader:
                index = partition.id.partition
                self._look_at(image, topic, index, topic.partitions[index])
                self._look_at_holders(opened, topic.partitions[index])

        OpenPartition.advance_to = watched  # type: ignore[method-assign, assignment]
        return lambda: setattr(OpenPartition, "advance_to", advance)

    def look(self) -> None:
        image = self._world.newest_image()
        if image is None:
            return
        for topic in image.topics.values():
            for index, partition in enumerate(topic.partitions):
                if partition.leader > 0 and len(partition.isr) > 1:
                    self._look_at(image, topic, index, partition)

    def ends(self, computer: "Computer") -> None:
        """This process ends now. After a clean stop its logs are closed, and nothing is known of them."""
        for key in [key for key in self._ends if key[0] == computer.number]:
            del self._ends[key]
        for replica in inspection.replicas(computer):
            self._ends[(computer.number, replica.partition.topic_id, replica.id.partition)] = replica.log.log_end_offset

    def _look_at(self, known: MetadataImage, topic: TopicImage, index: int, image: PartitionImage) -> None:
        computers, losses = self._world.computers, self._world.losses
        leader = computers[image.leader - 1]
        hosted = leader.node.partitions.hosted(topic.name, index) if leader.node is not None and leader.ready else None
        if hosted is None or hosted.opened is None or hosted.leader_epoch != image.leader_epoch or not hosted.is_leader:
            return
        committed = hosted.opened.high_watermark
        if committed <= hosted.opened.log.log_start_offset:
            return  # all of it is deleted
        for number in image.isr:
            other = computers[number - 1]
            broker = known.brokers.get(number)
            if number == image.leader or not other.ready or other.node is None or broker is None:
                continue
            if losses.is_unregistered(number, broker.broker_epoch):
                continue
            replica = other.node.partitions.hosted(topic.name, index)
            if replica is None or replica.opened is None or replica.lost or other.flips:
                continue
            end = replica.opened.log.log_end_offset
            if end < committed and not self._world.may_lose((topic.name, index), 0):
                self._problem(
                    f"{(topic.name, index)}: committed up to {committed} by {leader.name} in epoch "
                    f"{image.leader_epoch}, but {other.name}, which is in sync, ends at {end}"
                )

    def _look_at_holders(self, leader: OpenPartition, image: PartitionImage) -> None:
        """Called when the leader's high watermark moves."""
        wanted = self._world.min_insync.get(leader.id.topic, 1)
        if leader.high_watermark <= leader.log.log_start_offset:
            return  # all of it is deleted
        if len(image.replicas) < wanted or self._world.may_lose((leader.id.topic, leader.id.partition), 0):
            return
        ends: dict[int, int | None] = {}
        for number in image.replicas:
            ends[number] = self._end_of(number, leader)
        holders = sum(end is None or end >= leader.high_watermark for end in ends.values())
        if holders < wanted:
            self._problem(
                f"{(leader.id.topic, leader.id.partition)}: {leader.high_watermark} is committed in epoch "
                f"{leader.partition.leader_epoch}, but the replicas end at {ends}, and {wanted} are to have it"
            )

    def _end_of(self, number: int, leader: OpenPartition) -> int | None:
        """Where this replica ends, or ended when it died. None where that cannot be seen, or where its machine has lost
        its memory and the leader may not have heard of it yet."""
        if self._world.losses.is_recovering(number):
            return None
        computer = self._world.computers[number - 1]
        if computer.is_up:
            if computer.node is None or not computer.ready:
                return None
            replica = computer.node.partitions.hosted(leader.id.topic, leader.id.partition)
            if replica is None or replica.opened is None or replica.topic_id != leader.partition.topic_id:
                return None
            return replica.opened.log.log_end_offset
        return self._ends.get((number, leader.partition.topic_id, leader.id.partition))

    def _problem(self, text: str) -> None:
        self._world.trace.note(f"PROBLEM {text}")
        self.problems.append(f"S2 {text}")

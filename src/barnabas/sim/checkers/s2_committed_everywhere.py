"""S2, the other half: whatever a leader has told to be committed, every replica that is in sync has.

In sync is who the newest image says; the leader is the one of its epoch. A machine that is recovering from the loss of
its memory or its disk may be short of something until the controller has heard of it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.partition import HostedPartition
from barnabas.core.cluster.image import PartitionImage, TopicImage

if TYPE_CHECKING:
    from barnabas.sim.world import World


class CommittedEverywhere:
    def __init__(self, world: "World") -> None:
        self._world = world
        self.problems: list[str] = []

    def watch(self) -> Callable[[], None]:
        """Look whenever a high watermark moves; gives how to stop."""
        advance = HostedPartition._advance

        def watched(partition: HostedPartition, offset: int, size: int) -> None:
            advance(partition, offset, size)
            image = self._world.newest_image()
            topic = image.topics.get(partition.id.topic) if image is not None else None
            if topic is not None and topic.id == partition.topic_id and partition.is_leader:
                index = partition.id.partition
                self._look_at(topic, index, topic.partitions[index])

        HostedPartition._advance = watched  # type: ignore[method-assign, assignment]
        return lambda: setattr(HostedPartition, "_advance", advance)

    def look(self) -> None:
        image = self._world.newest_image()
        if image is None:
            return
        for topic in image.topics.values():
            for index, partition in enumerate(topic.partitions):
                if partition.leader > 0 and len(partition.isr) > 1:
                    self._look_at(topic, index, partition)

    def _look_at(self, topic: TopicImage, index: int, image: PartitionImage) -> None:
        computers, losses = self._world.computers, self._world.losses
        leader = computers[image.leader - 1]
        hosted = leader.node.partitions.hosted(topic.name, index) if leader.node is not None and leader.ready else None
        if hosted is None or not hosted.is_open or hosted.leader_epoch != image.leader_epoch or not hosted.is_leader:
            return
        committed = hosted.high_watermark
        for number in image.isr:
            other = computers[number - 1]
            if number == image.leader or not other.ready or other.node is None or losses.is_recovering(number):
                continue
            replica = other.node.partitions.hosted(topic.name, index)
            if replica is None or not replica.is_open or replica.lost or other.flips:
                continue
            if replica.log.log_end_offset < committed and not self._world.may_lose((topic.name, index), 0):
                self._problem(
                    f"{(topic.name, index)}: committed up to {committed} by {leader.name} in epoch "
                    f"{image.leader_epoch}, but {other.name}, which is in sync, ends at {replica.log.log_end_offset}"
                )

    def _problem(self, text: str) -> None:
        self._world.trace.note(f"PROBLEM {text}")
        self.problems.append(f"S2 {text}")

"""S1: one leader for each epoch, of every partition and of the quorum, and epochs never fall.

Looked at wherever it shows: in every image a node publishes, in what clients are told, and in what the nodes believe of
themselves. A node starts anew from its own log, so what it believes of partitions may be older in its next life; the
quorum's epoch is on its disk and may not.
"""

from typing import TYPE_CHECKING

from barnabas.core.cluster.image import NO_LEADER, MetadataImage
from barnabas.sim import inspection

if TYPE_CHECKING:
    from barnabas.broker.partition.partition import HostedPartition
    from barnabas.sim.computer import Computer
    from barnabas.sim.history import Partition
    from barnabas.sim.world import World


class Leaders:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._leaders: dict[tuple[bytes, int, int], tuple[int, str]] = {}  # topic id, index, epoch: leader, by whom
        self._controllers: dict[int, int] = {}  # epoch of the quorum: node
        self._quorum_epochs: dict[int, tuple[int, int]] = {}  # node: (disks it had, the highest epoch)
        self.problems: list[str] = []

    def told(self, who: str, partition: "Partition", topic_id: bytes, epoch: int, leader: int) -> None:
        self._leads(partition, topic_id, epoch, leader, who)

    def published(self, computer: "Computer", old: MetadataImage, new: MetadataImage) -> None:
        for name, topic in new.topics.items():
            before = old.topics.get(name)
            if before is topic:
                continue
            known = before.partitions if before is not None and before.id == topic.id else ()
            for index, partition in enumerate(topic.partitions):
                was = known[index] if index < len(known) else None
                if was is partition:
                    continue
                self._leads((name, index), topic.id, partition.leader_epoch, partition.leader, computer.name)
                if was is not None and was.leader_epoch > partition.leader_epoch:
                    self._problem(
                        f"{(name, index)}: the leader epoch fell from {was.leader_epoch} to {partition.leader_epoch} "
                        f"on {computer.name}"
                    )
                if was is not None and was.partition_epoch > partition.partition_epoch:
                    self._problem(f"{(name, index)}: the partition epoch fell on {computer.name}")

    def look(self, computer: "Computer", partition: "HostedPartition") -> None:
        """A replica that a node hosts: does the node believe that it leads it?"""
        if getattr(partition, "is_leader", True):
            key = (partition.topic_id, partition.id.partition, partition.leader_epoch)
            known = self._leaders.get(key)
            if known is None or known[0] != computer.number:
                self._leads(
                    (partition.id.topic, partition.id.partition), *key[::2], computer.number, f"{computer.name} itself"
                )

    def look_at_quorum(self, computer: "Computer") -> None:
        state = inspection.quorum(computer)
        if state is None:
            return
        epoch, leads = state.epoch, state.leader == computer.number
        disks, highest = self._quorum_epochs.get(computer.number, (0, 0))
        if epoch < highest and disks == computer.disks:
            self._problem(f"{computer.name}: the quorum's epoch fell from {highest} to {epoch}")
        self._quorum_epochs[computer.number] = (computer.disks, epoch)
        if leads and self._controllers.setdefault(epoch, computer.number) != computer.number:
            self._problem(f"epoch {epoch} of the quorum: node{self._controllers[epoch]} and {computer.name} lead it")

    def _leads(self, partition: "Partition", topic_id: bytes, epoch: int, leader: int, by: str) -> None:
        if leader == NO_LEADER:
            return
        known, whom = self._leaders.setdefault((topic_id, partition[1], epoch), (leader, by))
        if known != leader:
            self._problem(f"{partition} epoch {epoch}: node{known} leads it for {whom}, node{leader} for {by}")

    def _problem(self, text: str) -> None:
        if f"S1 {text}" not in self.problems:
            self._world.trace.note(f"PROBLEM {text}")
            self.problems.append(f"S1 {text}")

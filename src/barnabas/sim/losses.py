"""What may be lost, and what may not: the promise of each level, as the faults that struck leave it.

Flushed: nothing, however many machines lose power. Replicated: an acknowledged record is on min.insync.replicas
machines or more, so it survives any number of killed processes, and what happens to the memory or disk of one machine
at a time. A machine that lost power or its disk counts as recovering until it is in sync again everywhere; a second one
that goes meanwhile may take the only other copy with it, and from then on (a new era) what was acknowledged before is
excused on topics that are not flushed. One node alone is always its only copy.
"""

from typing import TYPE_CHECKING

from barnabas.sim.history import Partition

if TYPE_CHECKING:
    from barnabas.sim.computer import Computer
    from barnabas.sim.world import World


class Losses:
    def __init__(self, world: "World") -> None:
        self._world = world
        self.era = 0
        self.flushed: dict[str, bool] = {}  # topic: is every write flushed before it is acknowledged?
        self.damaged: set[Partition] = set()  # whose files a fault has changed, on a node that has no peers
        self.single_copies = False  # min.insync.replicas is 1: an acknowledged record may be on one machine only
        self.cut: set[Partition] = set()  # by a link, which follows another cluster that does not have it all
        self.followed: Losses | None = None  # of the cluster that a link follows: what is lost there is taken back here
        self._recovering: dict[int, int] = {}  # node: its broker epoch when it was struck

    def may_lose(self, partition: Partition, era: int) -> bool:
        """May something acknowledged in this era be gone now?"""
        return self.is_rewritten(partition) or (not self.flushed.get(partition[0], False) and self.era > era)

    def is_rewritten(self, partition: Partition) -> bool:
        """May records of it have been replaced at any time? By damage, or by a link that had to cut it."""
        followed = self.followed
        return (
            partition in self.damaged
            or partition in self.cut
            or (followed is not None and followed.lost_on_disk(partition))
        )

    def lost_on_disk(self, partition: Partition) -> bool:
        """May something acknowledged be gone because machines of this cluster lost it?"""
        return partition in self.damaged or (not self.flushed.get(partition[0], False) and self.era > 0)

    def struck(self, computer: "Computer") -> None:
        """This machine has lost its memory, or some of its disk too."""
        others = self._recovering.keys() - {computer.number}
        if len(self._world.computers) == 1 or self.single_copies or others:
            self.era += 1
        self._recovering.setdefault(computer.number, computer.last_broker_epoch)

    def is_recovering(self, number: int) -> bool:
        return number in self._recovering

    def is_unregistered(self, number: int, broker_epoch: int) -> bool:
        """Was it struck, and has it not registered since? Then the controller cannot know of it yet."""
        struck_in = self._recovering.get(number)
        return struck_in is not None and broker_epoch <= struck_in

    def disk_may_go(self) -> bool:
        """Is every record on every disk that should have it?"""
        return not self.single_copies and not self._recovering and self._in_sync(None)

    def look(self) -> None:
        """Who is in sync again everywhere?"""
        for number, epoch in list(self._recovering.items()):
            computer = self._world.computers[number - 1]
            if computer.ready and computer.last_broker_epoch > epoch and self._in_sync(number):
                del self._recovering[number]

    def _in_sync(self, number: int | None) -> bool:
        """This node, or all of them, everywhere, as the one has it that knows most: what others know may be old."""
        image = self._world.newest_image()
        return image is not None and all(
            number in partition.isr if number is not None else set(partition.isr) == set(partition.replicas)
            for topic in image.topics.values()
            for partition in topic.partitions
            if number is None or number in partition.replicas
        )

"""The two clusters of a linked world, what has been done to the link, and what was said about it.

The checkers of checkers/linked ask this: who is being followed just now, what a promotion promised, and what the former
source alone had when it was turned round.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

from barnabas.model.ids import parse_uuid
from barnabas.sim.computer import Computer
from barnabas.sim.history import Partition
from barnabas.sim.world import World

LINK = "east"


class Phase(Enum):
    LINKED = auto()
    PROMOTING = auto()  # asked for: the target's topics may be ordinary ones already
    PROMOTED = auto()
    REVERSING = auto()
    REVERSED = auto()  # the former source follows


@dataclass(slots=True)
class Pair:
    source: World
    target: World
    phase: Phase = Phase.LINKED
    planned: bool = True  # the promotion waited for everything
    promised: dict[Partition, int] = field(default_factory=dict)  # the end that promote said to be at the target
    deleted_to: dict[Partition, int] = field(default_factory=dict)  # the records that a client asked to be deleted
    common: dict[Partition, int] = field(default_factory=dict)  # where the logs diverge, when the link was reversed

    def canonical_id(self, world: World, topic: str) -> bytes | None:
        """The id at the source, by which a topic of either cluster is known; None where there is none such."""
        image = world.newest_image()
        found = image.topics.get(topic) if image is not None else None
        if found is None:
            return None
        if world is self.source:
            return found.id
        text = found.configs.get("link.topic.id")
        return parse_uuid(text) if text else found.id

    def is_promoted_for(self, computer: Computer) -> bool:
        """Does this node of the target know that none of its topics is filled any more?"""
        node = computer.node if computer.ready else None
        if node is None:
            return False
        found = (node.image.topics.get(topic) for topic, _ in self.promised)
        return not any(topic is not None and topic.configs.get("link.name") for topic in found)

    def lost(self, partition: Partition) -> bool:
        """May a fault have taken records of it, on either side?"""
        return self.source.losses.lost_on_disk(partition) or self.target.losses.lost_on_disk(partition)

    def is_cutting(self, world: World) -> bool:
        """May its logs be cut just now, because another cluster is followed?"""
        return world is self.source and self.phase in (Phase.REVERSING, Phase.REVERSED)

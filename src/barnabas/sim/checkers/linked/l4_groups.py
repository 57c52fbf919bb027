"""L4: at the target the offset of a group is never beyond what has come over, nor beyond what was committed at the
source; so a group that goes on there skips nothing. After a planned promotion it is the source's offset.

Looked at inside the coordinators. What has come over is the highest high watermark that the partition ever had.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.sim import inspection
from barnabas.sim.history import Partition
from barnabas.sim.linked.pair import Phase

if TYPE_CHECKING:
    from barnabas.sim.linked.pair import Pair
    from barnabas.sim.world import World

Offsets = dict[tuple[str, Partition], int]


def offsets_in(world: "World") -> Offsets:
    """Of the groups that a node coordinates."""
    found: Offsets = {}
    for computer in world.computers:
        if computer.node is not None and computer.ready:
            for hosted in computer.node.groups.every():
                store = hosted.machine._world.offsets
                for group in store.group_ids():
                    for topic, index, kept in store.of_group(group):
                        found[group, (topic, index)] = kept.offset
    return found


class GroupsBehind:
    def __init__(self, pair: "Pair") -> None:
        self._pair = pair
        self._come: dict[tuple[Partition, bytes], int] = {}  # partition and topic id: how far it has come
        self._committed: Offsets = {}  # the highest of each at the source
        self.problems: list[str] = []

    def look(self, number: int) -> None:
        if self._pair.phase is not Phase.LINKED:
            return
        target = self._pair.target
        ids: dict[Partition, bytes] = {}
        for computer in target.computers:
            for replica in inspection.replicas(computer):
                place: Partition = (replica.id.topic, replica.id.partition)
                ids[place] = replica.partition.topic_id
                before = self._come.get((place, ids[place]), 0)
                self._come[place, ids[place]] = max(before, replica.high_watermark)
        all_seen = all(computer.ready for computer in self._pair.source.computers)  # of those of the source
        for key, offset in offsets_in(self._pair.source).items():
            self._committed[key] = max(self._committed.get(key, -1), offset)
        for (group, place), offset in offsets_in(target).items():
            come = self._come.get((place, ids[place]), 0) if place in ids else None
            if come is not None and offset > come:
                self._problem(f"group {group} is at {offset} of {place}, of which {come} has come over")
            if all_seen and offset > self._committed.get((group, place), -1):
                self._problem(f"group {group} is at {offset} of {place}, which nobody has committed")

    def _problem(self, text: str) -> None:
        if f"L4 {text}" not in self.problems:
            self._pair.target.trace.note(f"PROBLEM {text}")
            self.problems.append(f"L4 {text}")


def at_planned_promotion(pair: "Pair", partitions: list[Partition]) -> Iterator[str]:
    there, here = offsets_in(pair.source), offsets_in(pair.target)
    for (group, place), offset in sorted(there.items()):
        if place not in partitions or pair.lost(place) or pair.source.losses.era or pair.target.losses.era:
            continue
        wanted = min(offset, pair.promised[place])
        if here.get((group, place)) != wanted:
            at = here.get((group, place))
            yield f"L4 group {group} is at {wanted} of {place} in the source, at {at} in the target, which is promoted"

"""Where partitions should lie: the plan behind `barnabas cluster balance` and `drain`, decided without a cluster.

Replicas move from the fullest node to the emptiest until no two differ by more than one; the replicas of a partition
stay on as many racks as they were, and small partitions move first. Then the first replica of each partition, its
preferred leader, is chosen so that every node leads its share. Nothing else changes: the plan of a balanced cluster is
empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from barnabas.cli.cluster_view import Broker, Partition


@dataclass(frozen=True, slots=True)
class Move:
    """One partition's new replicas, the preferred leader first."""

    partition: Partition
    replicas: tuple[int, ...]
    bytes: int = 0

    @property
    def added(self) -> tuple[int, ...]:
        return tuple(each for each in self.replicas if each not in self.partition.replicas)

    @property
    def removed(self) -> tuple[int, ...]:
        return tuple(each for each in self.partition.replicas if each not in self.replicas)


class NoRoom(Exception):
    """Fewer nodes are left than a partition has replicas; one line."""


Sizes = Mapping[tuple[str, int, int], int]


def plan(
    brokers: Sequence[Broker], partitions: Sequence[Partition], sizes: Sizes, leaving: frozenset[int] = frozenset()
) -> list[Move]:
    """The moves that balance the nodes that are up, and empty those that are `leaving`."""
    usable = {each.id: each.rack for each in brokers if each.up and each.port and each.id not in leaving}
    if not usable:
        raise NoRoom("no node is left to move partitions to")
    placed = {(each.topic, each.index): list(each.replicas) for each in partitions}
    known = {(each.topic, each.index): each for each in partitions}
    load: Counter[int] = Counter(dict.fromkeys(usable, 0))
    for replicas in placed.values():
        load.update(broker_id for broker_id in replicas if broker_id in usable)
    weight = {key: _bytes(known[key], sizes) for key in placed}
    for key, replicas in placed.items():
        _evacuate(known[key], replicas, usable, load, leaving)
    _level(placed, usable, load, weight)
    _spread_leaders(placed, usable)
    return [
        Move(known[key], tuple(replicas), weight[key])
        for key, replicas in placed.items()
        if tuple(replicas) != known[key].replicas
    ]


def _bytes(partition: Partition, sizes: Sizes) -> int:
    return max((sizes.get((partition.topic, partition.index, each), 0) for each in partition.replicas), default=0)


def _evacuate(
    partition: Partition,
    replicas: list[int],
    usable: Mapping[int, str | None],
    load: Counter[int],
    leaving: frozenset[int],
) -> None:
    for place, broker_id in enumerate(replicas):
        if broker_id not in leaving:
            continue
        others = [each for each in usable if each not in replicas]
        if not others:
            raise NoRoom(f"{partition.name} has {len(replicas)} replicas and only {len(usable)} nodes are left")
        racks = {usable.get(each) for each in replicas if each != broker_id}
        target = min(others, key=lambda each: (usable[each] is not None and usable[each] in racks, load[each], each))
        replicas[place] = target
        load[target] += 1


def _level(
    placed: dict[tuple[str, int], list[int]],
    usable: Mapping[int, str | None],
    load: Counter[int],
    weight: Mapping[tuple[str, int], int],
) -> None:
    """Take from the fullest, give to the emptiest, the smallest partition first, until they differ by one at most."""
    held: dict[int, list[tuple[str, int]]] = {broker_id: [] for broker_id in usable}
    for key in sorted(placed, key=lambda key: weight[key], reverse=True):
        for broker_id in placed[key]:
            if broker_id in held:
                held[broker_id].append(key)
    stuck: set[tuple[int, int]] = set()
    while True:
        pairs = [(a, b) for a in usable for b in usable if load[a] - load[b] > 1 and (a, b) not in stuck]
        if not pairs:
            return
        full, empty = max(pairs, key=lambda pair: (load[pair[0]] - load[pair[1]], -pair[0], -pair[1]))
        for key in reversed(held[full]):
            replicas = placed[key]
            if empty in replicas or not _keeps_racks(replicas, full, empty, usable):
                continue
            replicas[replicas.index(full)] = empty
            held[full].remove(key)
            held[empty].append(key)
            load[full] -= 1
            load[empty] += 1
            break
        else:
            stuck.add((full, empty))


def _keeps_racks(replicas: Sequence[int], old: int, new: int, usable: Mapping[int, str | None]) -> bool:
    before = {usable.get(each) for each in replicas}
    after = {usable.get(each) for each in replicas if each != old} | {usable[new]}
    return len(after) >= len(before)


def _spread_leaders(placed: dict[tuple[str, int], list[int]], usable: Mapping[int, str | None]) -> None:
    """Swap first replicas from nodes that lead too much to followers that lead too little."""
    leads: Counter[int] = Counter(dict.fromkeys(usable, 0))
    leads.update(replicas[0] for replicas in placed.values() if replicas[0] in usable)
    improved = True
    while improved:
        improved = False
        for replicas in placed.values():
            best = min(
                (each for each in replicas if each in usable), key=lambda each: (leads[each], each), default=None
            )
            first = replicas[0]
            if best is None or best == first or (first in usable and leads[first] - leads[best] <= 1):
                continue
            place = replicas.index(best)
            replicas[0], replicas[place] = best, first
            leads[best] += 1
            leads[first] -= 1
            improved = True

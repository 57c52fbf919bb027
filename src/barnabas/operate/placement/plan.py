"""Where partitions should lie: the plan behind `barnabas cluster balance` and `drain`, decided without a cluster.

1. Replicas of a partition that share a zone (rack) although there is another zone get a node there, and a partition
   whose leader should be in certain zones (`leader.preferred.racks`) gets a replica in the best of them.
2. Each topic's replicas are spread evenly over the nodes, the topic with the most bytes first: what a topic holds and
   serves is shared by all nodes, however many empty partitions other topics have.
3. All replicas together are, by moves that leave every topic as even as it was. Small partitions move first.
4. Where nodes still differ in bytes, partitions of one topic change places.
5. Preferred leaders (the first replica of each) are spread, of each topic and of all (leaders.py).

No move for a later reason undoes the first one. The plan of a balanced cluster is empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType

from barnabas.model.zones import rank
from barnabas.operate.placement.leaders import spread_leaders
from barnabas.operate.placement.nouns import Broker, Partition

_ROUNDS_MAX = 10  # of levelling; a move for one reason may make another possible
_BYTES_SPREAD = 0.1  # of the mean: nodes that differ by less are even
_BYTES_SPREAD_MIN = 64 << 20
_SWAPS_MAX = 1_000
_SWAP_GAIN_MIN = 0.1  # of the larger partition: a swap that moves 1 GB to even out 10 MB is not worth it
Key = tuple[str, int]
Racks = Mapping[int, str | None]
Preferred = Mapping[str, Sequence[str]]  # by topic


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
    brokers: Sequence[Broker],
    partitions: Sequence[Partition],
    sizes: Sizes,
    leaving: frozenset[int] = frozenset(),
    preferred: Preferred = MappingProxyType({}),
) -> list[Move]:
    """The moves that balance the nodes that are up, and empty those that are `leaving`. `preferred`: the zones in which
    the leaders of a topic should be, the best first."""
    usable = {each.id: each.rack for each in brokers if each.up and each.port and each.id not in leaving}
    if not usable:
        raise NoRoom("no node is left to move partitions to")
    known = {(each.topic, each.index): each for each in partitions}
    weight = {key: _bytes(partition, sizes) for key, partition in known.items()}
    placement = _Placement({key: list(each.replicas) for key, each in known.items()}, usable, weight, preferred)
    for key in known:
        placement.evacuate(known[key], leaving)
        placement.spread_zones(key)
    for _ in range(_ROUNDS_MAX):
        if not (placement.level_topics() + placement.level_all() + placement.level_bytes()):
            break
    spread_leaders(placement.placed, usable, preferred)
    return [
        Move(known[key], tuple(replicas), weight[key])
        for key, replicas in placement.placed.items()
        if tuple(replicas) != known[key].replicas
    ]


def _bytes(partition: Partition, sizes: Sizes) -> int:
    return max((sizes.get((partition.topic, partition.index, each), 0) for each in partition.replicas), default=0)


class _Placement:
    """Which replicas lie where, and how many of each topic and of all a node has."""

    def __init__(
        self, placed: dict[Key, list[int]], usable: Racks, weight: Mapping[Key, int], preferred: Preferred
    ) -> None:
        self.placed = placed
        self._preferred = preferred
        self._zones = {rack for rack in usable.values() if rack}
        self._usable = usable
        self._weight = weight
        self._by_size = sorted(placed, key=lambda key: (weight[key], key))
        self._load: Counter[int] = Counter(dict.fromkeys(usable, 0))
        self._topics: dict[str, Counter[int]] = {}
        for (topic, _), replicas in placed.items():
            here = [each for each in replicas if each in usable]
            self._load.update(here)
            self._topics.setdefault(topic, Counter(dict.fromkeys(usable, 0))).update(here)

    def evacuate(self, partition: Partition, leaving: frozenset[int]) -> None:
        replicas = self.placed[partition.topic, partition.index]
        usable, of_topic = self._usable, self._topics[partition.topic]
        for broker_id in [each for each in replicas if each in leaving]:
            others = [each for each in usable if each not in replicas]
            if not others:
                raise NoRoom(f"{partition.name} has {len(replicas)} replicas and only {len(usable)} nodes are left")
            racks = {usable.get(each) for each in replicas if each != broker_id} - {None}
            target = min(others, key=lambda each: (usable[each] in racks, of_topic[each], self._load[each], each))
            self._move((partition.topic, partition.index), broker_id, target)

    def spread_zones(self, key: Key) -> None:
        """Replicas that share a zone with another one go to zones without one; last, one goes to the best zone for the
        leader. A node that is down keeps its replicas: its zone may come back."""
        replicas, usable, of_topic = self.placed[key], self._usable, self._topics[key[0]]
        if any(each not in usable for each in replicas):
            return
        for _ in replicas:
            times = Counter(usable[each] for each in replicas if usable[each])
            free = self._zones - set(times)
            twice = [each for each in replicas if times[usable[each]] > 1]
            if not free or not twice:
                break
            old = max(twice, key=lambda each: (of_topic[each], self._load[each], each))
            self._move(key, old, self._emptiest(key, free))
        racks = self._preferred.get(key[0], ())
        best = min((rank(zone, racks) for zone in self._zones), default=len(racks))
        if best < min(rank(usable[each], racks) for each in replicas):
            old = max(replicas, key=lambda each: (rank(usable[each], racks), of_topic[each], self._load[each], each))
            self._move(key, old, self._emptiest(key, {racks[best]}))

    def _emptiest(self, key: Key, zones: Set[str]) -> int:
        of_topic = self._topics[key[0]]
        there = (each for each, rack in self._usable.items() if rack in zones and each not in self.placed[key])
        return min(there, key=lambda each: (of_topic[each], self._load[each], each))

    def level_topics(self) -> int:
        bytes_of: Counter[str] = Counter()
        for key in self.placed:
            bytes_of[key[0]] += self._weight[key]
        keys: dict[str, list[Key]] = {}
        for key in self._by_size:
            keys.setdefault(key[0], []).append(key)
        return sum(
            self._level(keys[topic], self._topics[topic], lambda _key, _full, _empty: True)
            for topic in sorted(keys, key=lambda each: (-bytes_of[each], each))
        )

    def level_all(self) -> int:
        return self._level(self._by_size, self._load, self._keeps_topic_even)

    def _keeps_topic_even(self, key: Key, full: int, empty: int) -> bool:
        of_topic = self._topics[key[0]]
        return of_topic[full] > of_topic[empty]

    def _level(self, keys: Sequence[Key], count: Counter[int], allowed: Callable[[Key, int, int], bool]) -> int:
        """Take from the fullest, give to the emptiest, until they differ by one at most or nothing may move."""
        moved = 0
        stuck: set[tuple[int, int]] = set()
        while True:
            pairs = [(a, b) for a in self._usable for b in self._usable if count[a] - count[b] > 1]
            pairs = [pair for pair in pairs if pair not in stuck]
            if not pairs:
                return moved
            full, empty = max(pairs, key=lambda pair: (count[pair[0]] - count[pair[1]], self._gap(*pair), pair))
            for key in keys:
                if self._may_move(key, full, empty) and allowed(key, full, empty):
                    self._move(key, full, empty)
                    moved += 1
                    break
            else:
                stuck.add((full, empty))

    def _gap(self, full: int, empty: int) -> int:
        return self._load[full] - self._load[empty]

    def level_bytes(self) -> int:
        """Swap two partitions of a topic between the node with the most bytes and the one with the fewest."""
        swapped = 0
        held: Counter[int] = Counter(dict.fromkeys(self._usable, 0))
        for key, replicas in self.placed.items():
            held.update({each: self._weight[key] for each in replicas if each in self._usable})
        bound = max(_BYTES_SPREAD_MIN, _BYTES_SPREAD * sum(held.values()) / len(held))
        while swapped < _SWAPS_MAX:
            full, empty = max(held, key=lambda each: held[each]), min(held, key=lambda each: held[each])
            gap = held[full] - held[empty]
            best = self._best_swap(full, empty, gap) if gap > bound else None
            if best is None:
                break
            large, small = best
            self._move(large, full, empty)
            self._move(small, empty, full)
            difference = self._weight[large] - self._weight[small]
            held[full] -= difference
            held[empty] += difference
            swapped += 1
        return swapped

    def _best_swap(self, full: int, empty: int, gap: int) -> tuple[Key, Key] | None:
        """The pair whose difference comes nearest to half the gap; none when no pair narrows it."""
        best: tuple[float, Key, Key] | None = None
        smaller: dict[str, list[Key]] = {}
        for key in self._by_size:
            if self._may_move(key, empty, full):
                smaller.setdefault(key[0], []).append(key)
        for large in self._by_size:
            if not self._may_move(large, full, empty):
                continue
            for small in smaller.get(large[0], ()):
                difference = self._weight[large] - self._weight[small]
                worth = difference >= max(1, _SWAP_GAIN_MIN * self._weight[large])
                if worth and difference < gap and (best is None or abs(gap / 2 - difference) < best[0]):
                    best = (abs(gap / 2 - difference), large, small)
        return None if best is None else best[1:]

    def _may_move(self, key: Key, old: int, new: int) -> bool:
        replicas = self.placed[key]
        return (
            old in replicas
            and new not in replicas
            and _keeps_racks(replicas, old, new, self._usable)
            and self._keeps_leader_zone(key, old, new)
        )

    def _keeps_leader_zone(self, key: Key, old: int, new: int) -> bool:
        racks = self._preferred.get(key[0], ())
        if not racks:
            return True
        before = min(rank(self._usable.get(each), racks) for each in self.placed[key])
        after = min(rank(self._usable.get(each), racks) for each in (new, *self.placed[key]) if each != old)
        return after <= before

    def _move(self, key: Key, old: int, new: int) -> None:
        replicas = self.placed[key]
        replicas[replicas.index(old)] = new
        for count in (self._load, self._topics[key[0]]):
            count[new] += 1
            if old in self._usable:
                count[old] -= 1


def _keeps_racks(replicas: Sequence[int], old: int, new: int, usable: Racks) -> bool:
    """On as many as before; nodes without a rack are alike."""
    before = {usable.get(each) for each in replicas}
    after = {usable.get(each) for each in replicas if each != old} | {usable[new]}
    return len(after) >= len(before)

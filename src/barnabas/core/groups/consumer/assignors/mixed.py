"""Uniform, where members read different topics: as even as single moves can make it, moving as few as possible.

1. A member keeps what it has and still reads.
2. Partitions nobody has go to the least loaded reader, those with the fewest readers first.
3. Single partitions move from a fuller to the emptiest reader while that narrows the gap.

Loads are numbers of partitions. Each pool of topics with the same readers (pools.py) knows its emptiest readers, so a
step costs the same however many members there are: 1,000 members with mixed subscriptions of 10,000 partitions take
some 40 ms (tests/unit/groups/test_assignor_speed.py).
"""

from collections.abc import Mapping
from heapq import heapify, heappop, heapreplace

from barnabas.core.groups.consumer.assignors.pools import Pool, pools_of
from barnabas.core.groups.consumer.assignors.spec import MemberSpec

_Pair = tuple[bytes, int]


class _Emptiest:
    """The readers of a pool with the fewest partitions, found anew when none of those known has so few any more."""

    __slots__ = ("load", "places", "readers")

    def __init__(self, readers: list[int], loads: list[int]) -> None:
        self.readers = readers
        self.load = -1
        self.places: list[int] = []
        self.find(loads)

    def find(self, loads: list[int]) -> int:
        """The first of the emptiest readers."""
        places = self.places
        while places and loads[places[-1]] != self.load:
            places.pop()
        if not places:
            self.load = min(loads[place] for place in self.readers)
            self.places = places = [place for place in reversed(self.readers) if loads[place] == self.load]
        return places[-1]

    def emptied(self, place: int, load: int) -> None:
        """A reader has one partition less."""
        if load < self.load:
            self.load, self.places = load, [place]
        elif load == self.load:
            self.places.insert(0, place)


def assign_mixed(members: Mapping[str, MemberSpec], counts: Mapping[bytes, int]) -> dict[str, list[_Pair]]:
    order = sorted(members)
    pools = pools_of(order, members, counts)
    pool_of = {topic_id: number for number, pool in enumerate(pools) for topic_id in pool.topics}
    held: list[dict[int, list[_Pair]]] = [{} for _ in order]  # by pool
    taken = _keep(order, members, counts, pool_of, held)
    loads = [sum(map(len, mine.values())) for mine in held]
    for number, pool in enumerate(pools):
        _fill(number, pool, counts, taken, held, loads)
    _even_out(order, members, pools, pool_of, held, loads)
    return {
        member_id: [pair for pairs in mine.values() for pair in pairs]
        for member_id, mine in zip(order, held, strict=True)
    }


def _keep(
    order: list[str],
    members: Mapping[str, MemberSpec],
    counts: Mapping[bytes, int],
    pool_of: Mapping[bytes, int],
    held: list[dict[int, list[_Pair]]],
) -> dict[bytes, set[int]]:
    taken: dict[bytes, set[int]] = {topic_id: set() for topic_id in pool_of}
    for place, member_id in enumerate(order):
        member = members[member_id]
        for topic_id in sorted(member.current):
            if topic_id not in member.topics or topic_id not in taken:
                continue
            others, count = taken[topic_id], counts[topic_id]
            mine = [number for number in sorted(member.current[topic_id]) if number < count and number not in others]
            if mine:
                others.update(mine)
                pairs = [(topic_id, number) for number in mine]
                held[place].setdefault(pool_of[topic_id], []).extend(pairs)
    return taken


def _fill(
    number: int,
    pool: Pool,
    counts: Mapping[bytes, int],
    taken: Mapping[bytes, set[int]],
    held: list[dict[int, list[_Pair]]],
    loads: list[int],
) -> None:
    free = [
        (topic_id, index)
        for topic_id in pool.topics
        if len(taken[topic_id]) < counts[topic_id]
        for index in range(counts[topic_id])
        if index not in taken[topic_id]
    ]
    if not free:
        return
    heap = [(loads[place], place) for place in pool.readers]
    heapify(heap)
    for pair in free:
        load, place = heap[0]
        held[place].setdefault(number, []).append(pair)
        loads[place] = load + 1
        heapreplace(heap, (load + 1, place))


def _even_out(
    order: list[str],
    members: Mapping[str, MemberSpec],
    pools: list[Pool],
    pool_of: Mapping[bytes, int],
    held: list[dict[int, list[_Pair]]],
    loads: list[int],
) -> None:
    """Move single partitions to emptier members. Every move lowers the sum of squared loads, so this ends."""
    emptiest = [_Emptiest(pool.readers, loads) for pool in pools]
    reads: dict[frozenset[bytes], list[int]] = {}  # subscription -> its pools
    moved = True
    while moved:
        moved = False
        # The fullest gives first, one partition at a time: giving more at once would empty it below the others.
        givers = [(-loads[place], place) for place in range(len(order)) if held[place]]
        heapify(givers)
        while givers:
            load, giver = givers[0]
            number = _best_pool(held[giver], emptiest, loads, loads[giver] - 1) if -load == loads[giver] else None
            if number is None:
                heappop(givers)
                continue
            _move(held, loads, number, giver, emptiest[number].find(loads))
            heapreplace(givers, (-loads[giver], giver))
            topics = members[order[giver]].topics
            if topics not in reads:
                reads[topics] = sorted({pool_of[topic_id] for topic_id in topics if topic_id in pool_of})
            for other in reads[topics]:
                emptiest[other].emptied(giver, loads[giver])
            moved = True


def _move(held: list[dict[int, list[_Pair]]], loads: list[int], number: int, giver: int, taker: int) -> None:
    pair = held[giver][number].pop()
    if not held[giver][number]:
        del held[giver][number]
    held[taker].setdefault(number, []).append(pair)
    loads[giver] -= 1
    loads[taker] += 1


def _best_pool(mine: Mapping[int, object], emptiest: list[_Emptiest], loads: list[int], below: int) -> int | None:
    """The pool, of those a member has partitions of, whose emptiest reader has the least, and less than `below`."""
    best = None
    for number in mine:
        found = emptiest[number]
        if found.load < below:
            found.find(loads)  # the load that was known may be out of date: it only grows meanwhile
            if found.load < below:
                best, below = number, found.load
    return best

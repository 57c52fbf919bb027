"""Which replica of each partition should lead it: every node leads its share of each topic, and of all partitions.

Leadership is passed along a path: node A gives a partition to B, which gives another one to C. Single exchanges are not
enough, because A and C may have no partition in common. Within a topic any path is taken; over all topics only steps
that leave each topic as even as it was.

Where the leaders of a topic should be in certain zones, only the replicas in the best zone that the partition is in may
lead, and the order of the others is that of the zones.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from barnabas.model.zones import rank

Key = tuple[str, int]
Step = tuple[Key, int, int]  # this partition's leadership goes from a node to another


def spread_leaders(
    placed: dict[Key, list[int]], usable: Mapping[int, str | None], preferred: Mapping[str, Sequence[str]]
) -> None:
    """Reorders replicas in place; the first is the preferred leader. Nodes that are not usable lead nothing.
    `preferred`: zones by topic, the best first."""
    topics: dict[str, list[Key]] = {}
    for key, replicas in placed.items():
        topics.setdefault(key[0], []).append(key)
        racks = preferred.get(key[0], ())
        if racks:
            if all(node in usable for node in replicas):  # else it waits for the node: the controller keeps this order
                replicas.sort(key=lambda node: rank(usable[node], racks))
            continue
        chosen = next((each for each in replicas if each in usable), None)
        if chosen is not None and replicas[0] not in usable:
            _lead(replicas, chosen)
    of_topic = {topic: _leads(keys, placed, usable) for topic, keys in topics.items()}
    for topic, keys in topics.items():
        racks = preferred.get(topic, ())
        _level(keys, placed, of_topic[topic], {}, lambda _key, old, new: _as_near(old, new, usable, racks))  # noqa: B023
    counts = {key: of_topic[key[0]] for key in placed}
    everything = _leads(placed, placed, usable)

    def allowed(key: Key, old: int, new: int) -> bool:
        return counts[key][old] > counts[key][new] and _as_near(old, new, usable, preferred.get(key[0], ()))

    _level(placed, placed, everything, counts, allowed)


def _as_near(old: int, new: int, usable: Mapping[int, str | None], racks: Sequence[str]) -> bool:
    return not racks or rank(usable.get(new), racks) <= rank(usable.get(old), racks)


def _leads(keys: Iterable[Key], placed: Mapping[Key, list[int]], usable: Mapping[int, str | None]) -> Counter[int]:
    found: Counter[int] = Counter(dict.fromkeys(usable, 0))
    found.update(placed[key][0] for key in keys if placed[key][0] in usable)
    return found


def _level(
    keys: Iterable[Key],
    placed: dict[Key, list[int]],
    leads: Counter[int],
    of_topic: Mapping[Key, Counter[int]],
    allowed: Callable[[Key, int, int], bool],
) -> None:
    led: dict[int, list[Key]] = {node: [] for node in leads}
    for key in keys:
        if placed[key][0] in led:
            led[placed[key][0]].append(key)
    while True:
        for start in sorted(leads, key=lambda node: (-leads[node], node)):
            path = _path(start, led, placed, leads, allowed)
            if path:
                break
        else:
            return
        for key, old, new in path:
            _lead(placed[key], new)
            led[old].remove(key)
            led[new].append(key)
            if key in of_topic:
                of_topic[key][old] -= 1
                of_topic[key][new] += 1
        leads[path[0][1]] -= 1
        leads[path[-1][2]] += 1


def _path(
    start: int,
    led: Mapping[int, list[Key]],
    placed: Mapping[Key, list[int]],
    leads: Counter[int],
    allowed: Callable[[Key, int, int], bool],
) -> list[Step]:
    """The shortest way from `start` to a node that leads at least two fewer."""
    came: dict[int, Step | None] = {start: None}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for key in led[node]:
            for other in placed[key]:
                if other in came or other not in led or not allowed(key, node, other):
                    continue
                came[other] = (key, node, other)
                if leads[start] - leads[other] > 1:
                    return _walked(came, other)
                queue.append(other)
    return []


def _walked(came: Mapping[int, Step | None], end: int) -> list[Step]:
    steps: list[Step] = []
    while (step := came[end]) is not None:
        steps.append(step)
        end = step[1]
    return steps[::-1]


def _lead(replicas: list[int], node: int) -> None:
    place = replicas.index(node)
    replicas[0], replicas[place] = node, replicas[0]

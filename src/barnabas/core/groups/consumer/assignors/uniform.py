"""Uniform: as many partitions for each as can be, moving as few as possible.

When all members read the same topics the loads differ by at most one, and a member keeps what it has up to its share.
When they read different topics, partitions nobody has go to the least loaded reader (those with the fewest readers
first), and then single partitions move from the fuller to the emptier reader while that narrows the gap. Both are
deterministic: the same group gives the same answer on every node.
"""

from collections.abc import Mapping

from barnabas.core.groups.consumer.assignors.spec import Assignment, MemberSpec

_Pair = tuple[bytes, int]


def assign_uniform(members: Mapping[str, MemberSpec], counts: Mapping[bytes, int]) -> Assignment:
    if not members:
        return {}
    first = next(iter(members.values())).topics
    if all(member.topics == first for member in members.values()):
        held = _homogeneous(members, {topic_id: counts[topic_id] for topic_id in sorted(first) if topic_id in counts})
    else:
        held = _heterogeneous(members, counts)
    return {member_id: _by_topic(pairs) for member_id, pairs in held.items()}


def _homogeneous(members: Mapping[str, MemberSpec], counts: Mapping[bytes, int]) -> dict[str, list[_Pair]]:
    everything = {(topic_id, number) for topic_id, count in counts.items() for number in range(count)}
    share, extra = divmod(len(everything), len(members))
    # Who holds more than the bare share goes first: the larger shares stay where they are.
    order = sorted(members, key=lambda member_id: (-_size(members[member_id]), member_id))
    held: dict[str, list[_Pair]] = {}
    free = set(everything)
    for member_id in order:
        quota = share + (1 if extra > 0 else 0)
        kept = [pair for pair in _pairs(members[member_id]) if pair in free][:quota]
        if len(kept) > share:
            extra -= 1
        free.difference_update(kept)
        held[member_id] = kept
    left = sorted(free, reverse=True)
    for member_id in order:
        mine = held[member_id]
        while len(mine) < share:
            mine.append(left.pop())
    for member_id in order:
        if not left:
            break
        if len(held[member_id]) == share:
            held[member_id].append(left.pop())
    return held


def _heterogeneous(members: Mapping[str, MemberSpec], counts: Mapping[bytes, int]) -> dict[str, list[_Pair]]:
    readers: dict[bytes, list[str]] = {topic_id: [] for topic_id in sorted(counts)}
    for member_id in sorted(members):
        for topic_id in members[member_id].topics:
            if topic_id in readers:
                readers[topic_id].append(member_id)
    held: dict[str, list[_Pair]] = {member_id: [] for member_id in members}
    taken: set[_Pair] = set()
    for member_id in sorted(members):
        for topic_id, number in _pairs(members[member_id]):
            mine = topic_id in members[member_id].topics and number < counts.get(topic_id, 0)
            if mine and (topic_id, number) not in taken:
                taken.add((topic_id, number))
                held[member_id].append((topic_id, number))
    for topic_id in sorted(readers, key=lambda key: (len(readers[key]), key)):
        for number in range(counts[topic_id] if readers[topic_id] else 0):
            if (topic_id, number) not in taken:
                lightest = min(readers[topic_id], key=lambda member_id: (len(held[member_id]), member_id))
                held[lightest].append((topic_id, number))
    _even_out(held, readers)
    return held


def _even_out(held: dict[str, list[_Pair]], readers: Mapping[bytes, list[str]]) -> None:
    """Move single partitions downhill. Every move lowers the sum of squared loads, so this ends."""
    moved = True
    while moved:
        moved = False
        for member_id in sorted(held, key=lambda key: (-len(held[key]), key)):
            by_topic: dict[bytes, _Pair] = {}
            for pair in held[member_id]:
                by_topic[pair[0]] = pair
            for topic_id in sorted(by_topic):
                lightest = min(readers[topic_id], key=lambda key: (len(held[key]), key))
                if len(held[member_id]) - len(held[lightest]) > 1:
                    held[member_id].remove(by_topic[topic_id])
                    held[lightest].append(by_topic[topic_id])
                    moved = True
                    break


def _size(member: MemberSpec) -> int:
    return sum(len(numbers) for numbers in member.current.values())


def _pairs(member: MemberSpec) -> list[_Pair]:
    return [(topic_id, number) for topic_id in sorted(member.current) for number in sorted(member.current[topic_id])]


def _by_topic(pairs: list[_Pair]) -> dict[bytes, frozenset[int]]:
    topics: dict[bytes, set[int]] = {}
    for topic_id, number in pairs:
        topics.setdefault(topic_id, set()).add(number)
    return {topic_id: frozenset(numbers) for topic_id, numbers in topics.items()}

"""Uniform: as many partitions for each as can be, moving as few as possible.

When all members read the same topics the loads differ by at most one, and a member keeps what it has up to its share.
When they read different topics: see mixed.py. Both are deterministic: the same group gives the same answer on every
node.
"""

from collections.abc import Mapping

from barnabas.core.groups.consumer.assignors.mixed import assign_mixed
from barnabas.core.groups.consumer.assignors.spec import Assignment, MemberSpec

_Pair = tuple[bytes, int]


def assign_uniform(members: Mapping[str, MemberSpec], counts: Mapping[bytes, int]) -> Assignment:
    if not members:
        return {}
    first = next(iter(members.values())).topics
    if all(member.topics == first for member in members.values()):
        held = _homogeneous(members, {topic_id: counts[topic_id] for topic_id in sorted(first) if topic_id in counts})
    else:
        held = assign_mixed(members, counts)
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


def _size(member: MemberSpec) -> int:
    return sum(len(numbers) for numbers in member.current.values())


def _pairs(member: MemberSpec) -> list[_Pair]:
    return [(topic_id, number) for topic_id in sorted(member.current) for number in sorted(member.current[topic_id])]


def _by_topic(pairs: list[_Pair]) -> dict[bytes, frozenset[int]]:
    topics: dict[bytes, set[int]] = {}
    for topic_id, number in pairs:
        topics.setdefault(topic_id, set()).add(number)
    return {topic_id: frozenset(numbers) for topic_id, numbers in topics.items()}

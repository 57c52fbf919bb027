"""Range: every topic's partitions in contiguous runs, the same members first in every topic.

Topics with the same number of partitions and the same readers are therefore co-partitioned: partition n of each goes to
the same member, which is what joins of streams need. Members are ordered by instance id where they have one (it
outlives a restart), then by member id.
"""

from collections.abc import Mapping

from barnabas.core.groups.consumer.assignors.pools import pools_of
from barnabas.core.groups.consumer.assignors.spec import Assignment, MemberSpec


def assign_range(members: Mapping[str, MemberSpec], counts: Mapping[bytes, int]) -> Assignment:
    order = sorted(members, key=lambda member_id: _rank(member_id, members[member_id]))
    result: dict[str, dict[bytes, frozenset[int]]] = {member_id: {} for member_id in members}
    for pool in pools_of(order, members, counts):
        for topic_id in pool.topics:
            share, extra = divmod(counts[topic_id], len(pool.readers))
            start = 0
            for place in pool.readers if share else pool.readers[:extra]:
                end = start + share + (1 if extra > 0 else 0)
                result[order[place]][topic_id] = frozenset(range(start, end))
                start, extra = end, extra - 1
    return result


def _rank(member_id: str, member: MemberSpec) -> tuple[int, str]:
    return (0, member.instance_id) if member.instance_id is not None else (1, member_id)

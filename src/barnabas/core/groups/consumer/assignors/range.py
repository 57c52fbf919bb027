"""Range: every topic's partitions in contiguous runs, the same members first in every topic.

Topics with the same number of partitions and the same readers are therefore co-partitioned: partition n of each goes to
the same member, which is what joins of streams need. Members are ordered by instance id where they have one (it
outlives a restart), then by member id.
"""

from collections.abc import Mapping

from barnabas.core.groups.consumer.assignors.spec import Assignment, MemberSpec


def assign_range(members: Mapping[str, MemberSpec], counts: Mapping[bytes, int]) -> Assignment:
    order = sorted(members, key=lambda member_id: _rank(member_id, members[member_id]))
    result: dict[str, dict[bytes, frozenset[int]]] = {member_id: {} for member_id in members}
    for topic_id, count in counts.items():
        readers = [member_id for member_id in order if topic_id in members[member_id].topics]
        if not readers:
            continue
        share, extra = divmod(count, len(readers))
        start = 0
        for place, member_id in enumerate(readers):
            end = start + share + (1 if place < extra else 0)
            if end > start:
                result[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return result


def _rank(member_id: str, member: MemberSpec) -> tuple[int, str]:
    return (0, member.instance_id) if member.instance_id is not None else (1, member_id)

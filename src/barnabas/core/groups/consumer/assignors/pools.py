"""Topics that the same members read, taken together.

A group of 1,000 members has few distinct subscriptions as a rule, and far fewer distinct sets of readers than topics.
Whoever assigns looks at each set of readers once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from barnabas.core.groups.consumer.assignors.spec import MemberSpec


@dataclass(frozen=True, slots=True)
class Pool:
    topics: list[bytes]  # in order of their ids
    readers: list[int]  # places in the order of members that was given


def pools_of(order: Sequence[str], members: Mapping[str, MemberSpec], counts: Mapping[bytes, int]) -> list[Pool]:
    """The topics somebody reads, grouped by their readers; the pools with the fewest readers first."""
    by_subscription: dict[frozenset[bytes], list[int]] = {}
    for place, member_id in enumerate(order):
        by_subscription.setdefault(members[member_id].topics, []).append(place)
    subscriptions = list(by_subscription)
    read_by: dict[bytes, list[int]] = {}
    for number, topics in enumerate(subscriptions):
        for topic_id in topics:
            if topic_id in counts:
                read_by.setdefault(topic_id, []).append(number)
    by_readers: dict[tuple[int, ...], list[bytes]] = {}
    for topic_id in sorted(read_by):
        by_readers.setdefault(tuple(read_by[topic_id]), []).append(topic_id)
    found = []
    for numbers, topics_read in by_readers.items():
        readers = [place for number in numbers for place in by_subscription[subscriptions[number]]]
        found.append(Pool(topics_read, sorted(readers)))
    return sorted(found, key=lambda pool: (len(pool.readers), pool.topics[0]))

"""Offsets of topics that are gone, or that came back under the same name as another topic: they are forgotten.

An offset knows the id of its topic, so even a deletion that happened while no coordinator was looking is seen. Offsets
without an id (written by older brokers) go only when their topic is seen to vanish.

A topic may have offsets of thousands of groups: they are looked at in several steps. From the first step on none of
them is told to anybody (`is_stale`).
"""

from functools import partial

from barnabas.core.groups.offsets.delete import forget
from barnabas.core.groups.records.offset_commit import CommittedOffset
from barnabas.core.groups.shard_state import ShardState, StaleTopic
from barnabas.model.ids import ZERO_UUID

_STALE_KEY = ("stale",)
_STEP_OFFSETS = 2_000  # looked at in one step, about 10 ms


def is_stale(world: ShardState, topic: str, kept: CommittedOffset) -> bool:
    """Whether an offset is about to be forgotten."""
    found = world.stale.get(topic)
    return found is not None and _is_of_another(found, kept)


def _is_of_another(topic: StaleTopic, kept: CommittedOffset) -> bool:
    return topic.vanished if kept.topic_id == ZERO_UUID else kept.topic_id != topic.topic_id


def forget_stale_topics(world: ShardState) -> None:
    known = world.offsets.topics()
    for name in sorted(known):
        current, before = world.topics.topic_id(name), world.topic_ids_seen.get(name)
        if name in world.topic_ids_seen and current == before:
            continue
        vanished = before is not None and current != before
        world.stale[name] = StaleTopic(current, vanished)
        world.topic_ids_seen[name] = current
    for name in world.topic_ids_seen.keys() - known:
        del world.topic_ids_seen[name]
    _forget_some(world)


def _forget_some(world: ShardState) -> None:
    looked = 0
    while world.stale and looked < _STEP_OFFSETS:
        name, topic = next(iter(world.stale.items()))
        if topic.group_ids is None:
            topic.group_ids = world.offsets.groups_with(name)
            looked += len(topic.group_ids) // 10  # they are put in order
        while topic.group_ids and looked < _STEP_OFFSETS:
            group_id = topic.group_ids.pop()
            for partition in world.offsets.partitions_of(group_id, name):
                looked += 1
                kept = world.offsets.get(group_id, name, partition)
                if kept is not None and _is_of_another(topic, kept):
                    forget(world, group_id, name, partition)
        if not topic.group_ids:
            del world.stale[name]
    if world.stale:
        world.timers.set(_STALE_KEY, world.now_ms + 1, partial(_forget_some, world))

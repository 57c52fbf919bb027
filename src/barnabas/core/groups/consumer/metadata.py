"""Topics appeared, vanished or grew: groups that read them begin another epoch.

Only the epoch moves here. The target is computed when the next member of the group speaks, so a burst of new topics
costs one assignment, not one each. Thousands of groups are looked at in several steps, requests in between.
"""

from functools import partial
from typing import TYPE_CHECKING

from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.subscriptions import look_again

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState

_CHANGED_KEY = ("topics",)
_STEP_WORK = 5_000  # topics and members of groups looked at in one step, about 10 ms


def topics_changed(world: "ShardState") -> None:
    for group in world.groups.values():
        if isinstance(group, ConsumerGroup) and group.members:
            world.changed[group.group_id] = None
    _look_through(world)


def _look_through(world: "ShardState") -> None:
    """The groups that have waited longest first; a change that comes meanwhile does not put them back."""
    work = 0
    while world.changed and work < _STEP_WORK:
        group_id = next(iter(world.changed))
        del world.changed[group_id]
        group = world.groups.get(group_id)
        if isinstance(group, ConsumerGroup) and group.members:
            look_again(world, group)
            work += 10 + len(group.members) + sum(map(len, group.subscriptions().values()))
    if world.changed:
        world.timers.set(_CHANGED_KEY, world.now_ms + 1, partial(_look_through, world))

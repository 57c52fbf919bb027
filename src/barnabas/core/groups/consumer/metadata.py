"""Topics appeared, vanished or grew: groups that read them begin another epoch.

Only the epoch moves here. The target is computed when the next member of the group speaks, so a burst of new topics
costs one assignment, not one each.
"""

from typing import TYPE_CHECKING

from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.subscriptions import bump_epoch, metadata_hash, refresh_regexes

if TYPE_CHECKING:
    from barnabas.core.groups.world import World


def topics_changed(world: "World") -> None:
    for group in world.groups.values():
        if isinstance(group, ConsumerGroup) and group.members:
            look_again(world, group)


def look_again(world: "World", group: ConsumerGroup) -> None:
    refresh_regexes(world, group)
    if metadata_hash(world, group) != group.facts.metadata_hash:
        bump_epoch(world, group)

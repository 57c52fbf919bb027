"""A classic group after replay: its members were alive when it was written, so each gets a whole session."""

from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.classic.rebalance import heard_from, prepare
from barnabas.core.groups.shard_state import ShardState


def load_classic(world: ShardState, group: ClassicGroup) -> None:
    for member in group.members.values():
        heard_from(world, group, member)
    if len(group.members) > world.config.group_max_size:
        prepare(world, group)  # the limit was lowered meanwhile: the last to join again stay outside

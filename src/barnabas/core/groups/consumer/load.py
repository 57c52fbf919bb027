"""A consumer group after replay: members get a whole session, revocations under way a whole rebalance timeout.

Leftovers are put right: a place without a member's own record (compaction took it after its tombstone), and targets of
members that are gone. Topics may have changed while nobody coordinated: look again.
"""

from typing import TYPE_CHECKING

from barnabas.core.groups.consumer.departure import arm_revocation, arm_session
from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.replay import is_fragment
from barnabas.core.groups.consumer.subscriptions import look_again

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState


def load_consumer(world: "ShardState", group: ConsumerGroup) -> None:
    for member in [member for member in group.members.values() if is_fragment(member)]:
        group.remove(member.member_id)
    for member_id in group.targets.keys() - group.members.keys():
        del group.targets[member_id]
    for member in group.members.values():
        arm_session(world, group, member)
        arm_revocation(world, group, member)
    if group.members:
        look_again(world, group)

"""A consumer group becomes a classic group again, because its last member of the new protocol has gone.

Assignments continue where they were, and the generation is the newest epoch a remaining member knows: its next
heartbeat is then told to rejoin, and it keeps its partitions until it has. (Kafka takes the group's epoch, which none
of them knows yet, and each is told that its generation is lost.) Then a rebalance begins, so that a client leads again.
When the policy forbids it, or there are more members than a classic group may have, the group stays what it is and goes
on serving its classic members.
"""

from typing import TYPE_CHECKING

from barnabas.core.groups.classic.group import ClassicGroup, ClassicState
from barnabas.core.groups.classic.member import ClassicMember
from barnabas.core.groups.classic.rebalance import heard_from, persist, prepare
from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.member import ConsumerMember, as_sets
from barnabas.core.groups.embedded import CONSUMER_PROTOCOL_TYPE, embedded_version, write_assignment

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState


def downgrade_if_possible(world: "ShardState", group: ConsumerGroup) -> bool:
    """True when the group is a classic one now (and its members are rebalancing)."""
    config = world.config
    if (
        not group.members
        or not group.all_classic_without(set())
        or not config.group_consumer_migration_policy.may_downgrade
        or len(group.members) > config.group_max_size
    ):
        return False
    result = ClassicGroup(group.group_id, world.wall.stamp_ms)
    result.generation = max(member.epoch for member in group.members.values())
    for member in group.members.values():
        result.add(_classic(world, member))
        for timer in ("revoke", "join", "sync"):
            world.timers.cancel((timer, group.group_id, member.member_id))
    result.protocol_name = result.select_protocol()
    result.compute_subscribed_topics()
    result.move_to(ClassicState.STABLE, world.wall.stamp_ms)
    group.bury(world)
    world.groups[group.group_id] = result
    persist(world, result)
    for classic_member in result.members.values():
        heard_from(world, result, classic_member)
    prepare(world, result)
    return True


def _classic(world: "ShardState", member: ConsumerMember) -> ClassicMember:
    facet = member.facts.classic
    assert facet is not None
    return ClassicMember(
        member.member_id,
        member.facts.instance_id,
        member.facts.client_id,
        member.facts.client_host,
        member.facts.rebalance_timeout_ms,
        facet.session_timeout_ms,
        CONSUMER_PROTOCOL_TYPE,
        facet.protocols,
        assignment_bytes(world, member),
    )


def assignment_bytes(world: "ShardState", member: ConsumerMember) -> bytes:
    """What the member owns, in the words of its own version of the embedded protocol."""
    facet = member.facts.classic
    assert facet is not None
    version = embedded_version(facet.protocols[0][1]) if facet.protocols else 0
    named = {}
    for topic_id, numbers in as_sets(member.place.assigned).items():
        name = world.topics.topic_name(topic_id)
        if name is not None:
            named[name] = numbers
    return write_assignment(named, version)

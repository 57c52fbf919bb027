"""The target assignment: run the group's assignor for its new epoch and write down what changed.

The assignor is the one most members ask for; members without a wish have no say, and where nobody has one the broker's
first applies. Members of the classic protocol inside the group are assigned by the server as well, in the same run.
"""

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.core.groups.consumer.assignors import ASSIGNORS, MemberSpec
from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.records.assignments import encode_target
from barnabas.core.groups.records.consumer_group import TargetEpochValue
from barnabas.core.groups.records.keys import Kind, RecordKey

if TYPE_CHECKING:
    from barnabas.core.groups.world import World


def preferred_assignor(world: "World", group: ConsumerGroup) -> str:
    allowed = world.config.group_consumer_assignors
    wishes = Counter(member.facts.server_assignor for member in group.members.values())
    for name, _ in wishes.most_common():
        if name is not None and name in allowed and name in ASSIGNORS:
            return name
    return allowed[0]


def assignment_delay_ms(world: "World", group: ConsumerGroup) -> int:
    """How long the group's next assignment has to wait (KIP-1263); 0 when it may be made, or is not needed."""
    if group.epoch <= group.target_epoch:
        return 0
    last_ms = group.target_facts.timestamp_ms
    if last_ms <= 0 or last_ms > world.now_ms:  # the first one, or a clock that was ahead when it was made
        return 0
    return max(0, last_ms + world.config.consumer_assignment_interval_ms(group.group_id) - world.now_ms)


def update_target(world: "World", group: ConsumerGroup) -> None:
    """Bring the target to the group's epoch; nothing happens when it is there, or the last one is too recent."""
    if group.epoch <= group.target_epoch or assignment_delay_ms(world, group):
        return
    counts: dict[bytes, int] = {}
    ids: dict[str, bytes] = {}
    for name in sorted(group.subscribed_topics()):
        topic_id, count = world.topics.topic_id(name), world.topics.partition_count(name)
        if topic_id is not None and count is not None:
            counts[topic_id] = count
            ids[name] = topic_id
    wishes = {
        wish: frozenset(ids[name] for name in names if name in ids) for wish, names in group.subscriptions().items()
    }
    specs = {
        member_id: MemberSpec(
            member.facts.instance_id,
            wishes[member.facts.topic_names, member.facts.topic_regex],
            group.targets.get(member_id, {}),
        )
        for member_id, member in group.members.items()
    }
    found = ASSIGNORS[preferred_assignor(world, group)](specs, counts)
    for member_id in group.members:
        target = found.get(member_id, {})
        if target != group.targets.get(member_id):
            group.targets[member_id] = target
            key = RecordKey(Kind.CONSUMER_TARGET_MEMBER, group.group_id, member_id)
            world.write(key, encode_target(target))
    group.target_facts = TargetEpochValue(group.epoch, world.wall.stamp_ms)
    world.write(RecordKey(Kind.CONSUMER_TARGET_EPOCH, group.group_id), group.target_facts.encode())

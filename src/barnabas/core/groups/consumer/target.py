"""The target assignment: run the group's assignor for its new epoch and write down what changed.

The assignor is the one most members ask for; members without a wish have no say, and where nobody has one the broker's
first applies. Members of the classic protocol inside the group are assigned by the server as well, in the same run.

A large group is assigned in a thread (KIP-1263, `group.consumer.assignor.offload.enable`), from a copy of what the
assignor needs; meanwhile its members keep the target they have and are told to come back soon. The result is the target
of the epoch for which it was computed, even if the group has begun another one since, as in Kafka: with members that
come and go all the time a result that had to be of the present epoch would never be there. Members that have left are
passed over; a static member that came back under another id gets what its former id was given. The next run follows.
A small group is assigned at once (here we differ from Kafka, whose members always wait for their next heartbeat).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from barnabas.core.groups.consumer.assignors import ASSIGNORS, MemberSpec
from barnabas.core.groups.consumer.group import ConsumerGroup, Target
from barnabas.core.groups.effects import Job
from barnabas.core.groups.records.assignments import encode_target
from barnabas.core.groups.records.consumer_group import TargetEpochValue
from barnabas.core.groups.records.keys import Kind, RecordKey

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState


def preferred_assignor(world: "ShardState", group: ConsumerGroup) -> str:
    allowed = world.config.group_consumer_assignors
    wishes = Counter(member.facts.server_assignor for member in group.members.values())
    for name, _ in wishes.most_common():
        if name is not None and name in allowed and name in ASSIGNORS:
            return name
    return allowed[0]


def assignment_delay_ms(world: "ShardState", group: ConsumerGroup) -> int:
    """How long the group's next assignment has to wait (KIP-1263); 0 when it may be made, or is not needed."""
    if group.epoch <= group.target_epoch:
        return 0
    last_ms = group.target_facts.timestamp_ms
    if last_ms <= 0 or last_ms > world.now_ms:  # the first one, or a clock that was ahead when it was made
        return 0
    return max(0, last_ms + world.config.consumer_assignment_interval_ms(group.group_id) - world.now_ms)


@dataclass(frozen=True, slots=True)
class AssignmentRun:
    """One run of an assignor: all that it needs, and nothing that changes meanwhile."""

    epoch: int
    assignor: str
    specs: Mapping[str, MemberSpec]
    counts: Mapping[bytes, int]

    @property
    def work(self) -> int:
        """What it takes, in units of about 5 us."""
        subscriptions = {spec.topics for spec in self.specs.values()}
        return len(self.specs) + sum(self.counts.values()) + sum(map(len, subscriptions))


Assigned = dict[str, tuple[Target, bytes | None]]  # the target of each member, encoded where it is another one


def update_target(world: "ShardState", group: ConsumerGroup) -> None:
    """Bring the target to the group's epoch; nothing happens when it is there, under way, or the last is too recent."""
    if group.epoch <= group.target_epoch or group.is_computing or assignment_delay_ms(world, group):
        return
    run = _next_run(world, group)
    if run.work > world.config.assignment_inline_work and world.config.group_consumer_assignor_offload_enable:
        group.run = run
        world.jobs.append(Job(partial(_assign, run), partial(_assigned, world, group, run)))
    else:
        _install(world, group, run, _assign(run))


def _next_run(world: "ShardState", group: ConsumerGroup) -> AssignmentRun:
    counts: dict[bytes, int] = {}
    ids: dict[str, bytes] = {}
    subscriptions = group.subscriptions()
    for name in sorted(set().union(*subscriptions.values())):
        topic_id, count = world.topics.topic_id(name), world.topics.partition_count(name)
        if topic_id is not None and count is not None:
            counts[topic_id] = count
            ids[name] = topic_id
    wishes = {wish: frozenset(ids[name] for name in names if name in ids) for wish, names in subscriptions.items()}
    specs = {
        member_id: MemberSpec(
            member.facts.instance_id,
            wishes[member.facts.topic_names, member.facts.topic_regex],
            group.targets.get(member_id, {}),
        )
        for member_id, member in group.members.items()
    }
    return AssignmentRun(group.epoch, preferred_assignor(world, group), specs, counts)


def _assign(run: AssignmentRun) -> Assigned:
    found = ASSIGNORS[run.assignor](run.specs, run.counts)
    result: Assigned = {}
    for member_id, spec in run.specs.items():
        target = found.get(member_id, {})
        result[member_id] = (target, encode_target(target) if target != spec.current else None)
    return result


def _assigned(world: "ShardState", group: ConsumerGroup, run: AssignmentRun, found: Assigned) -> None:
    if group.run is run:
        group.run = None
        if world.groups.get(group.group_id) is group:  # neither deleted nor a classic group by now
            _install(world, group, run, found)


def _install(world: "ShardState", group: ConsumerGroup, run: AssignmentRun, found: Assigned) -> None:
    for assigned_id, (target, encoded) in found.items():
        member_id = assigned_id
        if member_id not in group.members:
            follower = group.static_member(run.specs[assigned_id].instance_id)
            if follower is None or follower.member_id in found:
                continue
            member_id = follower.member_id
        known = group.targets.get(member_id)
        if target != known or known is None:
            group.targets[member_id] = target
            key = RecordKey(Kind.CONSUMER_TARGET_MEMBER, group.group_id, member_id)
            world.write(key, encode_target(target) if encoded is None else encoded)
    group.target_facts = TargetEpochValue(run.epoch, world.wall.stamp_ms)
    world.write(RecordKey(Kind.CONSUMER_TARGET_EPOCH, group.group_id), group.target_facts.encode())

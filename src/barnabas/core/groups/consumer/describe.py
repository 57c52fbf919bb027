"""ConsumerGroupDescribe (0-1) of one group; version 1 added whether a member speaks the classic protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.member import ConsumerMember, as_sets
from barnabas.core.groups.consumer.target import preferred_assignor
from barnabas.core.groups.records.consumer_group import Partitions

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState
    from barnabas.wire.messages import (
        ConsumerGroupDescribeResponseAssignmentBody,
        ConsumerGroupDescribeResponseDescribedGroupBody,
        ConsumerGroupDescribeResponseTopicPartitionsBody,
    )

_CLASSIC, _CONSUMER = 0, 1


def describe(world: ShardState, group: ConsumerGroup) -> ConsumerGroupDescribeResponseDescribedGroupBody:
    return {
        "error_code": 0,
        "group_id": group.group_id,
        "group_state": group.state.value,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": preferred_assignor(world, group),
        "members": [
            {
                "member_id": member.member_id,
                "instance_id": member.facts.instance_id,
                "rack_id": member.facts.rack_id,
                "member_epoch": member.epoch,
                "client_id": member.facts.client_id,
                "client_host": member.facts.client_host,
                "subscribed_topic_names": list(member.facts.topic_names),
                "subscribed_topic_regex": member.facts.topic_regex,
                "assignment": _named(world, _held(member)),
                "target_assignment": _named(world, group.targets.get(member.member_id, {})),
                "member_type": _CLASSIC if member.is_classic else _CONSUMER,
            }
            for member in group.members.values()
        ],
    }


def _held(member: ConsumerMember) -> Partitions:
    """What the member reads: what it is asked to give back too, until it has said that it did."""
    assigned, pending = as_sets(member.place.assigned), as_sets(member.place.pending_revocation)
    if not pending:
        return assigned
    return {
        topic_id: assigned.get(topic_id, frozenset()) | pending.get(topic_id, frozenset())
        for topic_id in assigned.keys() | pending.keys()
    }


def _named(world: ShardState, partitions: Partitions) -> ConsumerGroupDescribeResponseAssignmentBody:
    topics: list[ConsumerGroupDescribeResponseTopicPartitionsBody] = []
    for topic_id, numbers in sorted(partitions.items()):
        name = world.topics.topic_name(topic_id)
        if name is not None:  # deleted topics have no name to show
            topics.append({"topic_id": topic_id, "topic_name": name, "partitions": sorted(numbers)})
    return {"topic_partitions": topics}

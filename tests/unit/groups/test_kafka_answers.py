"""What Kafka's coordinator answers where a tool shows or compares it: codes, texts, what a description holds."""

from typing import Any

import pytest

from barnabas.core.groups import GroupConfig
from barnabas.core.groups.config import MigrationPolicy
from barnabas.model.errors import ErrorCode
from tests.unit.groups.stage import Bench, ClassicClient, ConsumerClient, join_body, stable_group, subscription


def described(bench: Bench, group: str = "g") -> Any:
    (found,) = bench.call("consumer_describe", {"group_ids": [group]}).groups
    return found


def test_a_description_holds_what_a_member_has_not_given_back_yet() -> None:
    bench = Bench()
    one, two = ConsumerClient(bench, "one"), ConsumerClient(bench, "two")
    one.join()
    two.join()
    assert len(one.names) == 4
    one.beat()
    member = next(member for member in described(bench).members if member.member_id == "one")
    (topic,) = member.assignment.topic_partitions
    assert topic.partitions == [0, 1, 2, 3], "two of them are pending revocation, and the member reads them still"
    assert len(member.target_assignment.topic_partitions[0].partitions) == 2
    one.confirm()
    one.confirm()
    member = next(member for member in described(bench).members if member.member_id == "one")
    assert len(member.assignment.topic_partitions[0].partitions) == 2


@pytest.mark.parametrize("policy", list(MigrationPolicy))
def test_a_classic_member_joins_a_consumer_group_unless_migration_is_off(policy: MigrationPolicy) -> None:
    bench = Bench(config=GroupConfig(group_consumer_migration_policy=policy))
    ConsumerClient(bench, "new").join()
    answer = bench.call("join", join_body(protocols=[{"name": "range", "metadata": b"not a subscription"}]))
    if policy is MigrationPolicy.DISABLED:
        assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    else:
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
        again = join_body(member=answer.member_id, protocols=[{"name": "range", "metadata": b"not a subscription"}])
        assert bench.call("join", again).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        good = join_body(member=answer.member_id, protocols=[{"name": "range", "metadata": subscription("alpha")}])
        assert bench.call("join", good).error_code == 0


def test_the_texts_of_groups_that_are_not_there() -> None:
    bench = Bench()
    stable_group(bench, ClassicClient(bench, group="old").start())
    ConsumerClient(bench, "m", group="new").join()
    by_classic = bench.call("describe", {"groups": ["none", "new"]}).groups
    assert [group.error_message for group in by_classic] == [
        "Group none not found.",
        "Group new is not a classic group.",
    ]
    assert described(bench, "none").error_message == "Group none not found."
    assert described(bench, "old").error_message == "Group old is not a consumer group."
    stray = ConsumerClient(bench, "m", group="none")
    stray.epoch = 3
    assert stray.beat().error_message == "Consumer group none not found."


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"group_id": ""}, "GroupId can't be empty."),
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"instance_id": ""}, "InstanceId can't be empty."),
        ({"rack_id": " "}, "RackId can't be empty."),
        ({"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({"topic_partitions": None}, "TopicPartitions must be empty when (re-)joining."),
        (
            {"subscribed_topic_names": None},
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        ({"member_epoch": -3}, "MemberEpoch is invalid."),
        ({"member_epoch": -2}, "InstanceId can't be null."),
        ({"server_assignor": "mine"}, "ServerAssignor mine is not supported. Supported assignors: uniform, range."),
    ],
)
def test_the_texts_of_a_heartbeat_that_is_not_well_formed(fields: dict[str, Any], text: str) -> None:
    answer = ConsumerClient(Bench(), "m").join(**fields)
    assert answer.error_code in (ErrorCode.INVALID_REQUEST, ErrorCode.UNSUPPORTED_ASSIGNOR)
    assert answer.error_message == text


def test_the_texts_of_members_that_are_fenced() -> None:
    bench = Bench(config=GroupConfig(group_consumer_max_size=1))
    one = ConsumerClient(bench, "one", instance_id="i")
    one.join()
    assert (
        ConsumerClient(bench, "two").join().error_message
        == "The consumer group has reached its maximum capacity of 1 members."
    )
    one.epoch += 5
    assert one.send(instance_id="i").error_message == (
        "The consumer group member has a greater member epoch (7) than the one known by the group coordinator (2). "
        "The member must abandon all its partitions and rejoin."
    )

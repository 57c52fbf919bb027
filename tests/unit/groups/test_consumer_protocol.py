"""KIP-848 groups: one partition, one owner, whatever the members do."""

from typing import Any

from barnabas.core.groups import GroupConfig
from tests.unit.groups.stage import Bench, ConsumerClient, FakeTopics, commit, fetch, settle

UNKNOWN_MEMBER, NOT_FOUND, FENCED_EPOCH, STALE, UNRELEASED = 25, 69, 110, 113, 111
ALPHA = {("alpha", number) for number in range(4)}


def described(bench: Bench) -> Any:
    (group,) = bench.call("consumer_describe", {"group_ids": ["g"]}).groups
    return group


def test_a_lone_member_has_everything_with_its_first_answer() -> None:
    bench = Bench()
    one = ConsumerClient(bench, "one")
    answer = one.join()
    assert (answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms) == (0, 2, 5_000)
    assert one.names == ALPHA
    assert one.beat().assignment is None, "a keep-alive is told nothing new"
    group = described(bench)
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Stable", 2, 2)
    assert (group.assignor_name, group.members[0].member_type) == ("uniform", 1)


def test_a_partition_is_free_only_when_its_owner_has_said_so() -> None:
    bench = Bench()
    one, two = ConsumerClient(bench, "one"), ConsumerClient(bench, "two")
    one.join()
    answer = two.join()
    assert (answer.member_epoch, answer.heartbeat_interval_ms) == (3, 200), "it waits, so it may ask again soon"
    assert two.names == set(), "all of it is still the first member's"
    assert one.beat().assignment is not None
    assert (len(one.names), one.epoch) == (2, 2), "asked to give back, so still in its old epoch"
    assert two.beat().assignment is None
    bench.advance(5_000)
    one.beat()
    assert two.beat().assignment is None, "a keep-alive does not confirm anything"
    assert one.confirm().member_epoch == 3
    assert two.beat().heartbeat_interval_ms == 5_000
    assert one.names | two.names == ALPHA
    assert not one.names & two.names
    assert described(bench).group_state == "Stable"


def test_who_will_not_give_back_is_put_out() -> None:
    bench = Bench()
    one, two = ConsumerClient(bench, "one", rebalance_timeout_ms=20_000), ConsumerClient(bench, "two")
    one.join()
    two.join()
    one.beat()
    for _ in range(4):
        bench.advance(5_000)
        one.beat(), two.beat()
    assert one.beat().error_code == UNKNOWN_MEMBER
    two.beat()
    assert two.names == ALPHA


def test_a_silent_member_loses_its_session() -> None:
    bench = Bench()
    one, two = ConsumerClient(bench, "one"), ConsumerClient(bench, "two")
    one.join(), two.join()
    settle(one, two)
    for _ in range(10):
        bench.advance(5_000)
        assert one.beat().error_code == 0
    assert one.names == ALPHA
    assert two.beat().error_code == UNKNOWN_MEMBER


def test_sessions_follow_the_groups_own_settings() -> None:
    config = GroupConfig(
        overrides=lambda group: {"consumer.session.timeout.ms": 50_000, "consumer.heartbeat.interval.ms": 7_000}
    )
    bench = Bench(config=config)
    one = ConsumerClient(bench, "one")
    assert one.join().heartbeat_interval_ms == 7_000
    bench.advance(49_000)
    assert one.beat().error_code == 0
    bench.advance(50_001)
    assert one.beat().error_code == UNKNOWN_MEMBER


def test_epochs_are_checked() -> None:
    bench = Bench()
    one = ConsumerClient(bench, "one")
    one.join()
    assert ConsumerClient(bench, "ghost", group="none").send(member_epoch=3).error_code == NOT_FOUND
    assert ConsumerClient(bench, "ghost").send(member_epoch=3).error_code == UNKNOWN_MEMBER
    assert one.send(member_epoch=9).error_code == FENCED_EPOCH
    assert one.send(member_epoch=1).error_code == FENCED_EPOCH
    assert one.join().error_code == 0, "a fenced member begins again with epoch 0"
    assert one.names == ALPHA


def test_a_lost_answer_may_be_asked_for_again() -> None:
    bench = Bench()
    one, two = ConsumerClient(bench, "one"), ConsumerClient(bench, "two")
    one.join(), two.join()
    one.beat()
    held = one.owned
    one.confirm()
    one.epoch, one.owned = 2, held
    assert one.confirm().member_epoch == 3, "the previous epoch, with nothing it should not have"
    one.epoch = 2
    assert one.beat().error_code == FENCED_EPOCH, "without its partitions nobody knows what it holds"


def test_leaving_frees_partitions_at_once() -> None:
    bench = Bench()
    one, two = ConsumerClient(bench, "one"), ConsumerClient(bench, "two")
    one.join(), two.join()
    settle(one, two)
    assert one.leave().member_epoch == -1
    two.beat()
    assert two.names == ALPHA
    assert two.leave().error_code == 0
    assert described(bench).group_state == "Empty"
    assert two.leave().error_code == UNKNOWN_MEMBER


def test_more_members_than_partitions() -> None:
    bench = Bench(topics=FakeTopics(alpha=2))
    clients = [ConsumerClient(bench, f"m{number}") for number in range(5)]
    for client in clients:
        assert client.join().error_code == 0
    settle(*clients)
    assert sorted(len(client.names) for client in clients) == [0, 0, 0, 1, 1]


def test_changed_subscriptions_and_growing_topics() -> None:
    bench = Bench()
    one = ConsumerClient(bench, "one")
    one.join()
    one.send(subscribed_topic_names=["alpha", "beta", "later"])
    settle(one)
    assert one.names == ALPHA | {("beta", 0), ("beta", 1)}
    bench.topics.create("later", 1)
    bench.topics.grow("beta", 3)
    bench.topics_changed()
    assert one.beat().assignment is not None
    assert one.names == ALPHA | {("beta", 0), ("beta", 1), ("beta", 2), ("later", 0)}
    bench.topics.delete("beta")
    bench.topics_changed()
    settle(one)
    assert one.names == ALPHA | {("later", 0)}
    epoch = one.epoch
    bench.topics.create("other", 1)
    bench.topics_changed()
    assert one.beat().member_epoch == epoch, "a topic nobody reads changes nothing"


def test_regular_expressions_are_re2_and_follow_the_topics() -> None:
    bench = Bench(topics=FakeTopics(alpha=1, alps=1, beta=1))
    one = ConsumerClient(bench, "one", topics=())
    regex = {"subscribed_topic_names": None, "subscribed_topic_regex": "al.*"}
    assert one.join(**regex).error_code == 0
    assert one.names == {("alpha", 0), ("alps", 0)}, "the whole name must match"
    bench.topics.create("also", 1)
    bench.topics_changed()
    one.beat()
    assert ("also", 0) in one.names
    bad = ConsumerClient(bench, "bad", topics=())
    for text in ("(", "(?=x)", "a" * 5_000, r"(a)\1"):
        answer = bad.join(**(regex | {"subscribed_topic_regex": text}))
        assert (answer.error_code, bool(answer.error_message)) == (128, True)
    assert len(described(bench).members) == 1, "a refused member is not in the group"
    one.send(subscribed_topic_regex="", subscribed_topic_names=["beta"])
    settle(one)
    assert one.names == {("beta", 0)}
    assert bench.log[-1][1] is not None
    assert any(key[1] == 16 and value is None for key, value in bench.log), "the expression is forgotten"


def test_static_members_come_back_to_their_place() -> None:
    bench = Bench()
    one = ConsumerClient(bench, "one", instance_id="i1")
    two = ConsumerClient(bench, "two", instance_id="i2")
    one.join(), two.join()
    settle(one, two)
    mine, epoch = one.names, two.epoch
    again = ConsumerClient(bench, "again", instance_id="i1")
    assert again.join().error_code == UNRELEASED, "its place is taken while it lives"
    assert one.leave(-2).member_epoch == -2
    assert two.beat().member_epoch == epoch, "nobody else notices"
    assert again.join().error_code == 0
    assert (again.names, again.epoch) == (mine, epoch)
    assert one.send(instance_id="i1", member_epoch=epoch).error_code == 82
    assert again.leave(-2).error_code == 0
    for _ in range(10):
        bench.advance(5_000)
        two.beat()
    assert two.names == ALPHA, "gone for longer than a session"
    assert two.leave(-1).error_code == 0


def test_what_a_heartbeat_must_say() -> None:
    bench = Bench()
    one = ConsumerClient(bench, "one")
    refused = 42
    assert one.join(rebalance_timeout_ms=-1).error_code == refused
    assert one.join(topic_partitions=None).error_code == refused
    assert one.join(subscribed_topic_names=None).error_code == refused
    assert one.join(instance_id="").error_code == refused
    assert one.join(rack_id="").error_code == refused
    assert one.send(member_epoch=-3).error_code == refused
    assert one.send(member_epoch=-2).error_code == refused
    assert ConsumerClient(bench, "").join().error_code == refused
    assert ConsumerClient(bench, "x", group="").join().error_code == refused
    assert one.join(server_assignor="mine").error_code == 112
    assert not bench.shard.groups
    assert len(bench.log) == 0


def test_version_0_gives_the_member_its_id() -> None:
    bench = Bench()
    body = {"group_id": "g", "rebalance_timeout_ms": 1_000, "subscribed_topic_names": ["alpha"], "topic_partitions": []}
    answer = bench.call("consumer_heartbeat", body | {"member_id": "", "member_epoch": 0}, 0)
    assert answer.error_code == 0
    assert len(answer.member_id) == 22


def test_the_members_choose_their_assignor() -> None:
    bench = Bench(topics=FakeTopics(alpha=4, beta=4))
    topics = ("alpha", "beta")
    one = ConsumerClient(bench, "one", topics=topics, server_assignor="range")
    two = ConsumerClient(bench, "two", topics=topics, server_assignor="range")
    one.join(), two.join()
    settle(one, two)
    assert described(bench).assignor_name == "range"
    assert {frozenset(numbers) for numbers in one.owned.values()} == {frozenset({0, 1})}, "co-partitioned"


def test_a_full_group_refuses() -> None:
    bench = Bench(config=GroupConfig(group_consumer_max_size=1))
    one = ConsumerClient(bench, "one")
    one.join()
    assert ConsumerClient(bench, "two").join().error_code == 81
    assert one.join().error_code == 0


def test_commits_and_fetches_are_checked_by_epoch() -> None:
    bench = Bench()
    one, two = ConsumerClient(bench, "one"), ConsumerClient(bench, "two")
    one.join()
    assert one.commit({("alpha", 0): 1}) == [0]
    assert one.commit({("alpha", 0): 1}, version=8) == [35]
    assert one.commit({("alpha", 0): 1}, epoch=7) == [STALE]
    assert commit(bench, "g", {("alpha", 0): 1}, "ghost", 2) == [UNKNOWN_MEMBER]
    assert commit(bench, "g", {("alpha", 0): 1}) == [UNKNOWN_MEMBER]
    two.join()
    one.beat()
    one.confirm()
    two.beat()
    kept, given = next(iter(one.names)), next(iter(two.names))
    assert one.commit({kept: 5, given: 5}, epoch=2) == [0, STALE], "late, but good for what it always held (KIP-1251)"
    topics = [{"name": "alpha", "partition_indexes": [0]}]
    for member, epoch, code in (("one", 3, 0), ("one", 2, STALE), ("ghost", 3, UNKNOWN_MEMBER), (None, -1, 0)):
        body = {"groups": [{"group_id": "g", "member_id": member, "member_epoch": epoch, "topics": topics}]}
        assert bench.call("offset_fetch", body, 9).groups[0].error_code == code
    one.leave(), two.leave()
    assert commit(bench, "g", {("alpha", 0): 9}) == [0], "an empty group is anybody's to reset"
    assert fetch(bench, "g", "alpha", 0).committed_offset == 9


def test_a_new_coordinator_goes_on_in_the_middle_of_a_rebalance() -> None:
    bench = Bench()
    one, two = ConsumerClient(bench, "one"), ConsumerClient(bench, "two")
    one.join(), two.join()
    one.beat()
    bench.reload()
    assert one.confirm().error_code == two.beat().error_code == 0
    settle(one, two)
    assert one.names | two.names == ALPHA
    assert not one.names & two.names
    bench.reload(compacted=False)
    assert one.beat().assignment is None
    bench.advance(45_001)
    assert described(bench).group_state == "Empty", "sessions run again after a reload"


def test_deleting_and_describing() -> None:
    bench = Bench()
    one = ConsumerClient(bench, "one")
    one.join()
    one.commit({("alpha", 0): 3})
    assert bench.call("delete", {"groups_names": ["g"]}).results[0].error_code == 68
    (classic,) = bench.call("describe", {"groups": ["g"]}).groups
    assert (classic.error_code, classic.group_state) == (NOT_FOUND, "Dead")
    assert bench.call("list", {"types_filter": ["Consumer"], "states_filter": ["stable"]}).groups[0].group_id == "g"
    assert bench.call("list", {"types_filter": ["classic"]}).groups == []
    one.leave()
    assert bench.call("delete", {"groups_names": ["g"]}).results[0].error_code == 0
    bench.reload(compacted=False)
    assert not bench.shard.groups
    assert fetch(bench, "g", "alpha", 0).committed_offset == -1

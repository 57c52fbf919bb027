"""KIP-1263: a large group's assignment and a regular expression over many topics are computed in a thread.

`Bench.compute` stands for the moment at which the thread is done; what happens before it happens meanwhile.
"""

import random
import time
from collections.abc import Callable
from typing import Any

from barnabas.core.groups import Effects, GroupConfig
from barnabas.core.groups.consumer.group import ConsumerGroup
from tests.unit.groups.stage import Bench, ClassicClient, ConsumerClient, FakeTopics, settle


def bench_with(topics: FakeTopics | None = None, **config: Any) -> Bench:
    bench = Bench(topics or FakeTopics(alpha=8), GroupConfig(**{"assignment_inline_work": 0, **config}))
    bench.holds_jobs = True
    return bench


def group_of(bench: Bench) -> ConsumerGroup:
    group = bench.shard.groups["g"]
    assert isinstance(group, ConsumerGroup)
    return group


def test_a_member_has_its_assignment_with_the_heartbeat_after_the_thread() -> None:
    bench = bench_with()
    member = ConsumerClient(bench, "m")
    answer = member.join()
    assert (answer.error_code, answer.member_epoch) == (0, 1)
    assert member.names == set()
    assert answer.heartbeat_interval_ms == 200, "it comes back soon"
    assert len(bench.jobs) == 1
    member.beat()
    assert len(bench.jobs) == 1, "one run of a group at a time"
    bench.compute()
    answer = member.beat()
    assert len(member.names) == 8
    assert answer.member_epoch == 2
    assert answer.heartbeat_interval_ms == 5_000


def test_members_keep_their_target_meanwhile_and_a_later_epoch_gets_a_run_of_its_own() -> None:
    bench = bench_with()
    one, two, three = (ConsumerClient(bench, name) for name in ("one", "two", "three"))
    one.join()
    bench.compute()
    one.beat()
    two.join()
    one.beat()
    assert len(one.names) == 8
    three.join()
    assert len(bench.jobs) == 1
    bench.compute()
    group = group_of(bench)
    assert (group.target_epoch, group.epoch) == (3, 4), "the target of the epoch it was computed for"
    assert sorted(sum(map(len, target.values())) for target in group.targets.values()) == [4, 4]
    settle(one, two, three)
    bench.compute()
    settle(one, two, three)
    assert sorted(len(member.names) for member in (one, two, three)) == [2, 3, 3]
    assert group_of(bench).target_epoch == 4


def test_who_left_meanwhile_is_passed_over_and_a_static_member_that_returned_is_not() -> None:
    bench = bench_with()
    gone = ConsumerClient(bench, "gone")
    static = ConsumerClient(bench, "before", instance_id="i")
    gone.join()
    bench.compute()
    static.join()
    bench.jobs.clear()
    bench.reload()
    gone.beat()
    assert len(bench.jobs) == 1
    gone.leave()
    static.leave(-2)
    static.member_id = "after"
    assert static.join().error_code == 0
    bench.compute()
    targets = group_of(bench).targets
    assert targets.keys() == {"after"}
    assert sum(map(len, targets["after"].values())) == 4


def test_a_group_that_is_gone_takes_no_target() -> None:
    bench = bench_with()
    member = ConsumerClient(bench, "m")
    member.join()
    member.leave()
    assert bench.call("delete", {"groups_names": ["g"]}).results[0].error_code == 0
    written = len(bench.log)
    bench.compute()
    assert len(bench.log) == written
    assert not bench.shard.groups


def test_a_classic_member_does_not_rejoin_while_a_thread_computes() -> None:
    bench = bench_with()
    new = ConsumerClient(bench, "new")
    new.join()
    bench.compute()
    new.beat()
    old = ClassicClient(bench).start()
    assert old.joined().error_code == 0
    assert bench.answers[old.sync()].error_code == 0
    assert old.heartbeat() == 0
    bench.compute()
    assert old.heartbeat() == 27


def test_without_offload_it_is_made_at_once() -> None:
    bench = bench_with(group_consumer_assignor_offload_enable=False)
    member = ConsumerClient(bench, "m")
    member.join()
    assert len(member.names) == 8


# --- regular expressions ---------------------------------------------------------------------------------------------


def regex_bench() -> Bench:
    return bench_with(FakeTopics(alpha=2, beta=2), regex_inline_names=1, assignment_inline_work=1_000)


def test_an_expression_is_resolved_beside_the_heartbeat() -> None:
    bench = regex_bench()
    member = ConsumerClient(bench, "m", topics=())
    assert member.join(subscribed_topic_regex=".*a").heartbeat_interval_ms == 200
    assert member.names == set()
    bench.compute()
    member.beat()
    assert len(member.names) == 4
    other = ConsumerClient(bench, "n", topics=())
    other.join(subscribed_topic_regex=".*a")
    assert not bench.jobs, "what it stands for is known"
    bench.topics.create("gamma", 2)
    bench.topics_changed()
    assert not bench.jobs, "only the new name is matched"
    settle(member, other)
    assert len(member.names | other.names) == 6
    bench.topics.delete("alpha")
    bench.topics_changed()
    settle(member, other)
    assert {topic for topic, _ in member.names | other.names} == {"beta", "gamma"}


def test_two_expressions_for_the_same_topics_both_get_partitions() -> None:
    bench = regex_bench()
    one, two = ConsumerClient(bench, "one", topics=()), ConsumerClient(bench, "two", topics=())
    one.join(subscribed_topic_regex=".*a")
    bench.compute()
    one.beat()
    two.join(subscribed_topic_regex="(alpha|beta)")
    assert len(one.names) == 4, "no assignment before the thread is done"
    bench.compute()
    settle(one, two)
    assert (len(one.names), len(two.names)) == (2, 2)


def test_members_keep_what_they_have_while_a_new_coordinator_resolves() -> None:
    bench = regex_bench()
    member = ConsumerClient(bench, "m", topics=())
    member.join(subscribed_topic_regex=".*a")
    bench.compute()
    member.beat()
    bench.reload()
    assert len(bench.jobs) == 1
    member.beat()
    bench.compute()
    member.beat()
    assert len(member.names) == 4
    epoch = member.epoch
    bench.topics.create("gamma", 1)
    bench.topics.create("delta", 1)
    bench.topics_changed()
    assert len(bench.jobs) == 1, "two new names are one too many here"
    member.beat()
    assert member.epoch == epoch
    bench.compute()
    settle(member)
    assert len(member.names) == 6


# --- what one turn of the loop takes ---------------------------------------------------------------------------------

TURN_SECONDS = 0.05


def longest(bench: Bench, action: Callable[[], object]) -> float:
    """CPU time of the longest step of an action and of all that follows from it, without what threads compute."""
    worst = 0.0

    def step(work: Callable[..., Effects], *args: Any) -> None:
        nonlocal worst
        begun = time.process_time()
        bench.take(work(*args))
        worst = max(worst, time.process_time() - begun)

    begun = time.process_time()
    action()
    worst = time.process_time() - begun
    while True:
        deadline_ms = bench.shard.next_deadline_ms()
        if bench.jobs:
            job = bench.jobs.pop(0)
            result = job.compute()
            step(bench.shard.finish, job, result, bench.now_ms)
        elif deadline_ms is not None and deadline_ms <= bench.now_ms + 1:
            bench.now_ms = deadline_ms
            step(bench.shard.tick, deadline_ms)
        else:
            return worst


def best_of(runs: int, measure: Callable[[], float]) -> float:
    """The machine may be busy: what the code takes is the least of some runs."""
    return min(measure() for _ in range(runs))


def test_a_join_to_a_thousand_mixed_members_leaves_the_loop_free() -> None:
    rng = random.Random(7)
    names = [f"topic{number}" for number in range(100)]
    bench = Bench(FakeTopics(**dict.fromkeys(names, 100)))
    members = [ConsumerClient(bench, f"m{number:04}", topics=rng.sample(names, 20)) for number in range(1_000)]
    hour_ms = 3_600_000
    bench.config = GroupConfig(
        group_consumer_assignment_interval_ms=15_000,
        group_consumer_session_timeout_ms=hour_ms,
        group_consumer_max_session_timeout_ms=hour_ms,
    )
    bench.shard.update_config(bench.config)
    for member in members:
        member.join()
    bench.now_ms += 20_000
    bench.holds_jobs = True
    worst = longest(bench, members[0].beat)
    assert sum(sum(map(len, target.values())) for target in group_of(bench).targets.values()) == 10_000

    def joins() -> float:
        bench.now_ms += 20_000
        newcomer = ConsumerClient(bench, f"n{bench.now_ms}", topics=rng.sample(names, 20))
        took = longest(bench, newcomer.join)
        assert newcomer.beat().member_epoch == group_of(bench).epoch
        return took

    assert worst < 2 * TURN_SECONDS, "the first assignment: 1,000 targets are written"
    worst = best_of(3, joins)
    assert worst < TURN_SECONDS


def test_an_expression_over_ten_thousand_topics_leaves_the_loop_free() -> None:
    bench = Bench(FakeTopics(**{f"topic-{number:05}": 1 for number in range(10_000)}))
    bench.holds_jobs = True

    def joins() -> float:
        member = ConsumerClient(bench, f"m{bench.now_ms}", group=f"g{bench.now_ms}", topics=())
        bench.now_ms += 2
        return longest(bench, lambda: member.join(subscribed_topic_regex=f"topic-.*[0-9]{{{bench.now_ms % 3}}}"))

    def changes() -> float:
        bench.topics.create(f"topic-{bench.topics.version}", 1)
        return longest(bench, bench.topics_changed)

    took = best_of(3, joins)
    assert took < TURN_SECONDS
    took = best_of(3, changes)
    assert took < TURN_SECONDS

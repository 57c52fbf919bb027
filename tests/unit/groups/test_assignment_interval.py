"""KIP-1263: two assignments of a group lie `group.consumer.assignment.interval.ms` apart."""

from barnabas.core.groups import GroupConfig
from barnabas.core.groups.embedded import write_assignment
from tests.unit.groups.stage import Bench, ClassicClient, ConsumerClient, FakeTopics, settle


def bench_with(interval_ms: int, **overrides: int) -> Bench:
    stored = {name.replace("_", "."): value for name, value in overrides.items()}
    config = GroupConfig(group_consumer_assignment_interval_ms=interval_ms, overrides=lambda _: stored)
    return Bench(FakeTopics(alpha=8), config)


def targets(bench: Bench) -> int:
    return sum(1 for key, _ in bench.log if key[:2] == b"\x00\x06")


def test_the_first_member_does_not_wait_and_the_next_ones_share_an_assignment() -> None:
    bench = bench_with(1_000)
    members = [ConsumerClient(bench, f"m{i}") for i in range(4)]
    members[0].join()
    assert len(members[0].names) == 8
    assert targets(bench) == 1
    for member in members[1:]:
        bench.advance(100)
        answer = member.join()
        assert answer.error_code == 0
        assert answer.member_epoch > 0
        assert member.names == set()
        assert 200 <= answer.heartbeat_interval_ms <= 1_000, "it comes back as soon as there may be an assignment"
    assert targets(bench) == 1
    (group,) = bench.call("consumer_describe", {"group_ids": ["g"]}).groups
    assert group.group_state == "Assigning"
    bench.advance(1_000)
    settle(*members)
    assert targets(bench) == 2, "one for all three"
    assert [len(member.names) for member in members] == [2, 2, 2, 2]


def test_a_group_has_an_interval_of_its_own_and_0_is_none() -> None:
    bench = bench_with(1_000, consumer_assignment_interval_ms=0)
    one, two = ConsumerClient(bench, "one"), ConsumerClient(bench, "two")
    one.join()
    two.join()
    assert targets(bench) == 2
    settle(one, two)
    assert len(two.names) == 4


def test_a_clock_that_was_ahead_delays_nothing() -> None:
    bench = bench_with(10_000)
    one = ConsumerClient(bench, "one")
    one.join()
    bench.now_ms -= 500_000
    bench.reload()
    two = ConsumerClient(bench, "two")
    two.join()
    assert targets(bench) == 2


def test_a_classic_member_does_not_rejoin_while_the_assignment_has_to_wait() -> None:
    bench = bench_with(1_000)
    new = ConsumerClient(bench, "new")
    new.join()
    old = ClassicClient(bench).start()
    assert old.joined().error_code == 0
    assert bench.answers[old.sync()].error_code == 0, "it has nothing yet, and is not sent round in circles"
    assert old.heartbeat() == 0
    bench.advance(1_000)
    assert old.heartbeat() == 27
    for _ in range(3):
        new.confirm()
        old.rejoin()
        assert old.joined().error_code == 0
        old.sync()
    assert len(new.names) == 4


def test_the_first_assignment_of_a_converted_group_does_not_wait() -> None:
    """The classic leader made the one before it, at a time that says nothing about the server's own."""
    bench = bench_with(1_000)
    old = ClassicClient(bench).start()
    bench.advance(4_000)
    old.joined()
    old.sync({old.member_id: write_assignment({"alpha": frozenset(range(8))})})
    new = ConsumerClient(bench, "new")
    assert new.join().error_code == 0
    (group,) = bench.call("consumer_describe", {"group_ids": ["g"]}).groups
    assert group.assignment_epoch == group.group_epoch
    assert group.group_state == "Reconciling"

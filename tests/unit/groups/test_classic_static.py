"""Static members (KIP-345): a restart within the session is nobody's business but their own."""

from typing import Any

from tests.unit.groups.stage import Bench, ClassicClient, stable_group

UNKNOWN_MEMBER, REBALANCING, FENCED = 25, 27, 82


def static(bench: Bench, name: str, **join: Any) -> ClassicClient:
    return ClassicClient(bench, group_instance_id=name, **join)


def pair(bench: Bench) -> tuple[ClassicClient, ClassicClient]:
    one, two = static(bench, "i1").start(), static(bench, "i2").start()
    stable_group(bench, one, two)
    return one, two


def test_a_restart_causes_no_rebalance() -> None:
    bench = Bench()
    leader, follower = pair(bench)
    assert leader.joined().leader == leader.member_id, "the first to come leads"
    back = static(bench, "i2").start()
    answer = back.joined()
    assert (answer.error_code, answer.generation_id, answer.skip_assignment, answer.members) == (0, 1, False, [])
    assert back.member_id != follower.member_id
    assert bench.answers[back.sync()].assignment == follower.member_id.encode(), "what its old self was given"
    assert leader.heartbeat() == 0
    assert follower.heartbeat() == FENCED, "the old process is told that it is history"
    assert follower.commit({("alpha", 0): 1}) == [UNKNOWN_MEMBER], "commits carry no instance id here"


def test_a_returning_leader_does_not_assign_again() -> None:
    bench = Bench()
    leader, follower = pair(bench)
    old = leader.member_id
    back = static(bench, "i1").start(version=9)
    answer = back.joined()
    assert (answer.leader, answer.skip_assignment, len(answer.members)) == (back.member_id, True, 2)
    again = static(bench, "i1").start(version=8)
    answer = again.joined()
    assert answer.leader == back.member_id != again.member_id, "older clients must not see themselves as leader"
    assert answer.members == []
    assert follower.heartbeat() == 0
    assert old != again.member_id


def test_its_new_name_survives_a_failover() -> None:
    bench = Bench()
    pair(bench)
    back = static(bench, "i2").start()
    back.joined()
    bench.reload()
    assert back.heartbeat() == 0


def test_another_subscription_does_rebalance_when_the_protocol_changes() -> None:
    bench = Bench()
    leader, _ = pair(bench)
    back = static(bench, "i2", protocols=[{"name": "range", "metadata": b"v2"}]).start()
    assert back.joined().generation_id == 1, "the same protocol wins: the leader learns of it when it rebalances"
    assert leader.heartbeat() == 0


def test_a_restart_during_the_rebalance_takes_over_its_place() -> None:
    bench = Bench()
    one, two = pair(bench)
    ClassicClient(bench).start()
    two.rejoin()
    parked = two.token
    back = static(bench, "i2").start()
    assert bench.answers[parked].error_code == FENCED
    one.rejoin()
    assert back.joined().generation_id == 2
    assert len([client for client in (one, back) if client.joined().members]) == 1


def test_a_restart_while_synchronising_begins_again() -> None:
    bench = Bench()
    one, two = static(bench, "i1").start(), static(bench, "i2").start()
    bench.advance(200)
    one.joined(), two.joined()
    parked = two.sync()
    back = static(bench, "i2").start()
    assert bench.answers[parked].error_code == FENCED
    assert one.heartbeat() == REBALANCING
    one.rejoin()
    assert back.joined().generation_id == 2


def test_a_static_member_is_not_put_out_by_the_join_barrier() -> None:
    bench = Bench()
    one = static(bench, "i1", session_timeout_ms=120_000).start()
    two = static(bench, "i2", session_timeout_ms=120_000).start()
    stable_group(bench, one, two)
    newcomer = static(bench, "i3", session_timeout_ms=120_000).start()
    one.rejoin()
    bench.advance(60_001)
    assert newcomer.joined().generation_id == 2
    assert len(one.joined().members) == 3, "its session still runs, so it keeps its part"


def test_only_static_members_and_none_is_back() -> None:
    bench = Bench()
    one = static(bench, "i1", session_timeout_ms=200_000).start()
    two = static(bench, "i2", session_timeout_ms=200_000).start()
    stable_group(bench, one, two)
    leave = {"group_id": "g", "members": [{"member_id": "", "group_instance_id": "i2"}]}
    assert bench.call("leave", leave).members[0].error_code == 0
    bench.advance(61_000)
    assert one.heartbeat() == REBALANCING
    one.rejoin()
    bench.advance(61_000)
    assert one.joined().generation_id == 2


def test_leaving_by_name_and_by_both() -> None:
    bench = Bench()
    one, _two = pair(bench)
    members = [
        {"member_id": "", "group_instance_id": "i2"},
        {"member_id": "wrong", "group_instance_id": "i1"},
        {"member_id": "", "group_instance_id": "nobody"},
        {"member_id": "ghost", "group_instance_id": None},
    ]
    answer = bench.call("leave", {"group_id": "g", "members": members})
    assert answer.error_code == 0
    assert [member.error_code for member in answer.members] == [0, FENCED, UNKNOWN_MEMBER, UNKNOWN_MEMBER]
    assert one.heartbeat() == REBALANCING

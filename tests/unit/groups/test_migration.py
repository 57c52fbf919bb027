"""Between the protocols, with members alive: nobody loses a partition twice, nobody shares one."""

from typing import Any

from barnabas.core.groups import GroupConfig, MigrationPolicy
from barnabas.core.groups.embedded import read_assignment, write_assignment
from tests.unit.groups.stage import Bench, ClassicClient, ConsumerClient, fetch, join_body, stable_group, subscription

UNKNOWN_MEMBER, REBALANCING, NOT_FOUND = 25, 27, 69
ALPHA = {("alpha", number) for number in range(4)}


class Guest(ClassicClient):
    """A classic cooperative consumer that does what it is told, from wherever the group stands."""

    owned: frozenset[int] = frozenset()

    def follow(self) -> None:
        """Join, sync, and again while there is something to give back."""
        for _ in range(4):
            self.join_fields["protocols"] = [
                {"name": "cooperative-sticky", "metadata": subscription("alpha", owned={"alpha": self.owned})}
            ]
            self.rejoin()
            if self.token not in self.bench.answers:
                return
            assert self.joined().error_code == 0, self.joined()
            synced = self.sync()
            if synced not in self.bench.answers:
                return  # a true classic group again: the leader has the word
            answer = self.bench.answers[synced]
            if answer.error_code == REBALANCING:
                continue
            given = (read_assignment(answer.assignment) or {}).get("alpha", frozenset())
            must_revoke = self.owned - given
            self.owned = given
            if not must_revoke:
                return

    def beat(self) -> None:
        code = self.heartbeat()
        if code:
            assert code in (REBALANCING, 22), code
            self.follow()

    @property
    def names(self) -> set[tuple[str, int]]:
        return {("alpha", number) for number in self.owned}


def classic_pair(bench: Bench) -> tuple[Guest, Guest]:
    protocols = [{"name": "cooperative-sticky", "metadata": subscription("alpha")}]
    one, two = Guest(bench, protocols=protocols), Guest(bench, protocols=protocols)
    one.start(), two.start()
    bench.advance(200)
    one.joined(), two.joined()
    leader, other = (one, two) if one.joined().leader == one.member_id else (two, one)
    parts = {leader.member_id: frozenset({0, 1}), other.member_id: frozenset({2, 3})}
    other.sync()
    leader.sync({member: write_assignment({"alpha": numbers}) for member, numbers in parts.items()})
    leader.owned, other.owned = parts[leader.member_id], parts[other.member_id]
    return one, two


def kind(bench: Bench) -> tuple[str, str]:
    (group,) = bench.call("list", {}).groups
    return group.group_type, group.group_state


def rounds(bench: Bench, guests: list[Guest], clients: list[ConsumerClient], count: int = 6) -> None:
    for _ in range(count):
        for guest in guests:
            guest.beat()
            alone(guests, clients)
        for client in clients:
            assert client.confirm().error_code == 0
            alone(guests, clients)
        bench.advance(1_000)


def alone(guests: list[Guest], clients: list[ConsumerClient]) -> None:
    members: list[Guest | ConsumerClient] = [*guests, *clients]
    held = [pair for member in members for pair in member.names]
    assert len(held) == len(set(held)), "two members hold one partition"


def test_there_and_back_again() -> None:
    bench = Bench()
    one, two = classic_pair(bench)
    one.commit({("alpha", 0): 11})
    new = ConsumerClient(bench, "new")
    assert new.join().error_code == 0
    assert kind(bench)[0] == "consumer"
    assert one.heartbeat() == REBALANCING
    rounds(bench, [one, two], [new])
    assert kind(bench) == ("consumer", "Stable")
    assert sorted(map(len, (one.names, two.names, new.names))) == [1, 1, 2]
    assert one.names | two.names | new.names == ALPHA
    (group,) = bench.call("consumer_describe", {"group_ids": ["g"]}).groups
    assert sorted(member.member_type for member in group.members) == [0, 0, 1]
    assert one.commit({("alpha", 0): 12}) == [0]
    bench.reload()
    rounds(bench, [one, two], [new], 2)
    assert kind(bench) == ("consumer", "Stable")
    assert new.leave().error_code == 0
    assert kind(bench) == ("classic", "PreparingRebalance")
    assert one.heartbeat() == REBALANCING, "told to rejoin, not that all is lost"
    one.beat()
    two.beat()
    bench.advance(70_000)
    assert one.joined().generation_id == two.joined().generation_id
    assert fetch(bench, "g", "alpha", 0).committed_offset == 12, "the offsets came along"
    bench.reload(compacted=False)
    assert kind(bench)[0] == "classic"


def test_all_members_move_over() -> None:
    bench = Bench()
    one, two = classic_pair(bench)
    first, second = ConsumerClient(bench, "first"), ConsumerClient(bench, "second")
    first.join()
    rounds(bench, [one, two], [first], 3)
    assert one.leave().members[0].error_code == 0
    second.join()
    rounds(bench, [two], [first, second], 3)
    assert two.leave().members[0].error_code == 0
    rounds(bench, [], [first, second], 4)
    assert first.names | second.names == ALPHA
    assert kind(bench) == ("consumer", "Stable")


def test_a_rebalance_under_way_is_called_off() -> None:
    bench = Bench()
    one, _two = classic_pair(bench)
    ClassicClient(bench, protocols=[{"name": "cooperative-sticky", "metadata": subscription("alpha")}]).start()
    one.rejoin()
    parked = one.token
    assert parked in bench.unanswered
    assert ConsumerClient(bench, "new").join().error_code == 0
    assert bench.answers[parked].error_code == REBALANCING
    assert not bench.unanswered


def test_static_members_change_protocol_under_their_name() -> None:
    bench = Bench()
    protocols = [{"name": "range", "metadata": subscription("alpha")}]
    old = ClassicClient(bench, group_instance_id="i1", protocols=protocols).start()
    bench.advance(200)
    old.joined()
    old.sync({old.member_id: write_assignment({"alpha": frozenset(range(4))})})
    new = ConsumerClient(bench, "new", instance_id="i1")
    assert new.join().error_code == 0
    assert new.names == ALPHA, "the same place, at once"
    assert old.heartbeat() == 82
    assert new.leave(-2).error_code == 0
    back = ClassicClient(bench, group_instance_id="i1", protocols=protocols).start()
    assert back.joined().error_code == 0
    assert kind(bench)[0] == "classic"


def test_the_policy_decides() -> None:
    for policy, up in ((MigrationPolicy.DISABLED, NOT_FOUND), (MigrationPolicy.DOWNGRADE, NOT_FOUND)):
        bench = Bench(config=GroupConfig(group_consumer_migration_policy=policy))
        one, _ = classic_pair(bench)
        assert ConsumerClient(bench, "new").join().error_code == up
        assert one.heartbeat() == 0, "the group has not noticed"
    bench = Bench(config=GroupConfig(group_consumer_migration_policy=MigrationPolicy.UPGRADE))
    one, two = classic_pair(bench)
    new = ConsumerClient(bench, "new")
    new.join()
    new.leave()
    assert kind(bench)[0] == "consumer", "no way back, but its members are still served"
    rounds(bench, [one, two], [])
    assert one.names | two.names == ALPHA


def test_groups_that_cannot_move() -> None:
    bench = Bench()
    worker = ClassicClient(bench, protocol_type="connect", protocols=[{"name": "x", "metadata": b""}]).start()
    stable_group(bench, worker)
    assert ConsumerClient(bench, "new").join().error_code == NOT_FOUND
    assert worker.heartbeat() == 0


def test_own_assignors_with_data_stay_classic_and_the_usual_ones_move() -> None:
    for name, code in (("my-own", NOT_FOUND), ("cooperative-sticky", 0)):
        bench = Bench()
        one = ClassicClient(bench, protocols=[{"name": name, "metadata": subscription("alpha")}]).start()
        bench.advance(200)
        one.joined()
        with_data = write_assignment({"alpha": frozenset({0})})[:-4] + b"\x00\x00\x00\x01x"
        one.sync({one.member_id: with_data})
        assert ConsumerClient(bench, "new").join().error_code == code


def test_an_empty_group_changes_hands() -> None:
    bench = Bench()
    one, two = classic_pair(bench)
    one.commit({("alpha", 1): 7})
    one.leave(), two.leave()
    new = ConsumerClient(bench, "new")
    assert new.join().error_code == 0
    assert kind(bench) == ("consumer", "Stable")
    assert fetch(bench, "g", "alpha", 1).committed_offset == 7
    new.leave()
    assert bench.call("join", join_body(member="ghost")).error_code == UNKNOWN_MEMBER
    assert kind(bench) == ("consumer", "Empty")
    again = ClassicClient(bench).start()
    stable_group(bench, again)
    assert kind(bench) == ("classic", "Stable")
    bench.reload(compacted=False)
    assert kind(bench) == ("classic", "Stable")
    assert fetch(bench, "g", "alpha", 1).committed_offset == 7


def test_guests_are_held_to_their_timeouts() -> None:
    bench = Bench()
    one, two = classic_pair(bench)
    new = ConsumerClient(bench, "new")
    new.join()

    def keep_alive(ms: int, *alive: Any) -> None:
        for _ in range(ms // 5_000):
            bench.advance(5_000)
            for member in alive:
                member.heartbeat() if isinstance(member, ClassicClient) else member.confirm()

    assert one.heartbeat() == REBALANCING
    keep_alive(60_000, one, new)  # told to rejoin, it does not, within its rebalance timeout
    assert one.heartbeat() == UNKNOWN_MEMBER
    assert two.heartbeat() == UNKNOWN_MEMBER, "silent for longer than its session"
    new.confirm()
    assert new.names == ALPHA


def test_what_guests_may_not_do() -> None:
    bench = Bench()
    one, _ = classic_pair(bench)
    new = ConsumerClient(bench, "new")
    new.join()
    stranger = {"name": "range", "metadata": subscription("alpha")}
    assert bench.call("join", join_body(protocols=[stranger])).error_code == 23
    unreadable = join_body(protocols=[{"name": "cooperative-sticky", "metadata": b""}])
    first = bench.call("join", unreadable)
    assert first.error_code == 79, "as in Kafka: the id comes first, the subscription is read when it joins with it"
    assert bench.call("join", unreadable | {"member_id": first.member_id}).error_code == 23
    body = {"group_id": "g", "generation_id": new.epoch, "member_id": "new"}
    assert bench.call("heartbeat", body).error_code == UNKNOWN_MEMBER, "it speaks the other protocol"
    protocol = {"protocol_type": "consumer", "protocol_name": "range"}
    assert bench.call("sync", body | protocol).error_code == UNKNOWN_MEMBER
    one.generation = 99
    assert one.heartbeat() == 22
    assert one.commit({("alpha", 0): 1}) == [22]
    leave = {"group_id": "g", "members": [{"member_id": "new"}, {"member_id": "ghost"}]}
    assert [m.error_code for m in bench.call("leave", leave).members] == [0, UNKNOWN_MEMBER], "an administrator may"

"""Classic groups: how members come together, stay together and part."""

from barnabas.core.groups import GroupConfig
from tests.unit.groups.stage import Bench, ClassicClient, FakeTopics, commit, fetch, join_body, stable_group

UNKNOWN_MEMBER, ILLEGAL_GENERATION, REBALANCING = 25, 22, 27


def test_a_lone_consumer_is_through_in_a_fraction_of_a_second() -> None:
    bench = Bench()
    client = ClassicClient(bench).start()
    assert bench.unanswered == [client.token]
    bench.advance(150)
    answer = client.joined()
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, client.member_id)
    assert [member.member_id for member in answer.members] == [client.member_id]


def test_members_that_arrive_together_share_one_generation() -> None:
    bench = Bench()
    clients = []
    for _ in range(10):
        clients.append(ClassicClient(bench).start())
        bench.advance(100)  # each within the quiet window of the one before
    bench.advance(150)
    assert {client.joined().generation_id for client in clients} == {1}
    assert sum(len(client.joined().members) for client in clients) == 10, "only the leader is told the members"


def test_the_setting_is_the_ceiling_of_the_first_wait() -> None:
    bench = Bench(config=GroupConfig(group_initial_rebalance_delay_ms=500))
    first = ClassicClient(bench).start()
    for _ in range(5):
        bench.advance(99)
        ClassicClient(bench).start()
    bench.advance(5)
    assert first.joined().generation_id == 1


def test_an_id_that_was_handed_out_is_waited_for() -> None:
    bench = Bench()
    first = ClassicClient(bench).start()
    bench.advance(140)
    late = ClassicClient(bench)
    late.rejoin()
    late.member_id = bench.answers[late.token].member_id
    bench.advance(160)
    assert first.token in bench.unanswered
    late.rejoin()
    bench.advance(150)
    assert first.joined().generation_id == late.joined().generation_id == 1


def test_without_a_delay_the_group_forms_at_the_next_tick() -> None:
    bench = Bench(config=GroupConfig(group_initial_rebalance_delay_ms=0))
    client = ClassicClient(bench).start()
    bench.advance(0)
    assert client.joined().generation_id == 1


def test_the_assignment_reaches_everybody_and_the_log() -> None:
    bench = Bench()
    one, two = ClassicClient(bench).start(), ClassicClient(bench).start()
    bench.advance(200)
    one.joined(), two.joined()
    waiting = two.sync()
    assert waiting in bench.unanswered
    records = len(bench.log)
    mine = one.sync({one.member_id: b"A", two.member_id: b"B"})
    assert bench.answers[mine].assignment == b"A"
    assert bench.answers[waiting].assignment == b"B"
    assert len(bench.log) == records + 1
    assert one.heartbeat() == two.heartbeat() == 0


def test_a_member_the_leader_forgot_gets_an_empty_assignment() -> None:
    bench = Bench(topics=FakeTopics(alpha=1))
    one, two = ClassicClient(bench).start(), ClassicClient(bench).start()
    bench.advance(200)
    one.joined(), two.joined()
    one.sync({one.member_id: b"all"})
    assert bench.answers[two.sync()].assignment == b""


def test_a_newcomer_makes_the_others_join_again() -> None:
    bench = Bench()
    one = ClassicClient(bench).start()
    stable_group(bench, one)
    two = ClassicClient(bench).start()
    assert one.heartbeat() == REBALANCING
    one.rejoin()
    assert one.joined().generation_id == two.joined().generation_id == 2
    assert one.joined().leader == one.member_id
    assert one.heartbeat() == 0, "while the members synchronise nobody is told to rejoin"


def test_the_rebalance_timeout_leaves_laggards_behind() -> None:
    bench = Bench()
    one = ClassicClient(bench, session_timeout_ms=30_000, rebalance_timeout_ms=20_000).start()
    lazy = ClassicClient(bench, session_timeout_ms=30_000, rebalance_timeout_ms=20_000).start()
    stable_group(bench, one, lazy)
    ClassicClient(bench, session_timeout_ms=30_000, rebalance_timeout_ms=20_000).start()
    one.rejoin()
    bench.advance(10_000)
    assert lazy.heartbeat() == REBALANCING
    bench.advance(10_001)
    assert one.joined().generation_id == 2
    assert len(one.joined().members) == 2
    assert lazy.heartbeat() == UNKNOWN_MEMBER


def test_a_silent_member_loses_its_session() -> None:
    bench = Bench()
    one, two = ClassicClient(bench).start(), ClassicClient(bench).start()
    stable_group(bench, one, two)
    bench.advance(9_000)
    assert one.heartbeat() == 0
    bench.advance(1_001)
    assert one.heartbeat() == REBALANCING
    one.rejoin()
    assert [member.member_id for member in one.joined().members] == [one.member_id]
    assert two.heartbeat() == UNKNOWN_MEMBER


def test_who_does_not_synchronise_is_put_out() -> None:
    bench = Bench()
    quick = ClassicClient(bench, rebalance_timeout_ms=12_000).start()
    slow = ClassicClient(bench, rebalance_timeout_ms=12_000).start()
    bench.advance(200)
    quick.joined(), slow.joined()
    parked = quick.sync({quick.member_id: b"x"}) if quick.joined().leader == quick.member_id else quick.sync()
    assert parked in bench.answers
    bench.advance(6_000)
    assert quick.heartbeat() == slow.heartbeat() == 0
    bench.advance(6_000)
    assert quick.heartbeat() == REBALANCING
    assert slow.heartbeat() == UNKNOWN_MEMBER


def test_a_parked_member_outlives_its_session() -> None:
    bench = Bench()
    one = ClassicClient(bench).start()
    stable_group(bench, one)
    two = ClassicClient(bench).start()
    bench.advance(9_000)
    one.heartbeat()
    bench.advance(9_000)  # twice the session, but its JoinGroup is ours to answer
    one.rejoin()
    assert two.joined().error_code == 0


def test_leaving_rebalances_and_the_last_one_leaves_an_empty_group() -> None:
    bench = Bench()
    one, two = ClassicClient(bench).start(), ClassicClient(bench).start()
    stable_group(bench, one, two)
    assert one.leave().members[0].error_code == 0
    assert two.heartbeat() == REBALANCING
    assert two.leave().error_code == 0
    (group,) = bench.call("list", {}).groups
    assert (group.group_state, group.protocol_type, group.group_type) == ("Empty", "consumer", "classic")
    assert two.leave().members[0].error_code == UNKNOWN_MEMBER


def test_old_clients_join_without_an_id_and_leave_alone() -> None:
    bench = Bench()
    client = ClassicClient(bench)
    client.rejoin(version=0)
    bench.advance(200)
    assert client.joined().generation_id == 1
    assert bench.call("leave", {"group_id": "g", "member_id": "nobody"}, 0).error_code == UNKNOWN_MEMBER
    assert bench.call("leave", {"group_id": "g", "member_id": client.member_id}, 1).error_code == 0


def test_refusals_of_join() -> None:
    bench = Bench(config=GroupConfig(group_max_size=1))
    for body, code in (
        (join_body(group=""), 24),
        (join_body(session_timeout_ms=1), 26),
        (join_body(session_timeout_ms=2_000_000_000), 26),
        (join_body(member="ghost"), UNKNOWN_MEMBER),
        (join_body(protocols=[]), 23),
        (join_body(protocol_type=""), 23),
    ):
        assert bench.call("join", body).error_code == code
    assert bench.call("list", {}).groups == [], "a refused join leaves no group behind"
    one = ClassicClient(bench).start()
    stable_group(bench, one)
    for body, code in ((join_body(), 81), (join_body(member="ghost"), 81)):
        assert bench.call("join", body).error_code == code


def test_a_common_protocol_is_needed_and_the_most_wanted_wins() -> None:
    bench = Bench()

    def protocols(*names: str) -> list[dict[str, object]]:
        return [{"name": name, "metadata": b""} for name in names]

    one = ClassicClient(bench, protocols=protocols("range", "sticky")).start()
    two = ClassicClient(bench, protocols=protocols("sticky", "range")).start()
    three = ClassicClient(bench, protocols=protocols("sticky")).start()
    bench.advance(200)
    assert {client.joined().protocol_name for client in (one, two, three)} == {"sticky"}
    assert bench.call("join", join_body(protocols=protocols("range"))).error_code == 23
    assert bench.call("join", join_body(protocol_type="connect", protocols=protocols("sticky"))).error_code == 23


def test_other_protocol_types_live_by_the_same_rules() -> None:
    bench = Bench()
    worker = ClassicClient(
        bench, protocol_type="connect", protocols=[{"name": "sessioned", "metadata": b"url"}]
    ).start()
    stable_group(bench, worker)
    (group,) = bench.call("describe", {"groups": ["g"]}).groups
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "connect", "sessioned")
    assert group.members[0].member_metadata == b"url"
    assert group.members[0].client_host == "/10.0.0.7", "as Kafka shows an address"
    assert group.members[0].member_assignment == worker.member_id.encode()


def test_generations_are_checked() -> None:
    bench = Bench()
    one = ClassicClient(bench).start()
    stable_group(bench, one)
    one.generation = 7
    assert one.heartbeat() == ILLEGAL_GENERATION
    assert bench.answers[one.sync()].error_code == ILLEGAL_GENERATION
    assert one.commit({("alpha", 0): 5}, version=8) == [ILLEGAL_GENERATION]
    one.generation, one.member_id = 1, "ghost"
    assert one.heartbeat() == UNKNOWN_MEMBER
    assert one.commit({("alpha", 0): 5}) == [UNKNOWN_MEMBER]


def test_a_lost_join_answer_is_repeated() -> None:
    bench = Bench()
    one, two = ClassicClient(bench).start(), ClassicClient(bench).start()
    bench.advance(200)
    follower = two if one.joined().leader == one.member_id else one
    follower.joined()
    follower.rejoin()
    assert follower.joined().generation_id == 1, "the same subscription in the same generation changes nothing"
    follower.join_fields["topics"] = ("beta",)
    follower.rejoin()
    assert follower.token in bench.unanswered, "another subscription does"


def test_a_second_join_of_one_member_answers_the_first() -> None:
    bench = Bench()
    one = ClassicClient(bench).start()
    stable_group(bench, one)
    ClassicClient(bench).start()
    lost = ClassicClient(bench).start()
    first = lost.token
    lost.rejoin()
    assert bench.answers[first].error_code == REBALANCING
    one.rejoin()
    bench.advance(70_000)
    assert one.joined().generation_id == 2
    assert not bench.unanswered


def test_losing_leadership_answers_every_parked_request() -> None:
    bench = Bench()
    one, two = ClassicClient(bench).start(), ClassicClient(bench).start()
    bench.advance(200)
    follower = one if one.joined().leader != one.member_id else two
    follower.joined()
    parked = follower.sync()
    ClassicClient(bench, group="other").start()
    bench.reload()
    assert not bench.unanswered
    assert bench.answers[parked].error_code == 16


def test_commits_are_refused_while_members_synchronise() -> None:
    bench = Bench()
    one = ClassicClient(bench).start()
    bench.advance(200)
    one.joined()
    assert one.commit({("alpha", 0): 5}) == [REBALANCING]
    one.sync({one.member_id: b""})
    assert one.commit({("alpha", 0): 5}) == [0]
    ClassicClient(bench).start()
    assert one.commit({("alpha", 0): 6}) == [0], "before it rejoins a member may save what it has done"
    assert commit(bench, "g", {("alpha", 0): 9}) == [UNKNOWN_MEMBER]
    assert fetch(bench, "g", "alpha", 0).committed_offset == 6

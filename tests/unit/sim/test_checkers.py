"""Each checker of what clients saw, given a history in which its rule holds and one that breaks it: the first is passed
over in silence, the second is reported. tests/sim has the histories that nodes make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from barnabas.core.cluster.image import MetadataImage, PartitionImage, TopicImage
from barnabas.model.limits import LOOP_BUDGET_MS
from barnabas.sim.callback_cost import LOOP_HELD, CallbackCost, held_in_both
from barnabas.sim.checkers import CHECKERS, Final
from barnabas.sim.checkers.inside import differences
from barnabas.sim.checkers.s8_work_goes_on import unanswered
from barnabas.sim.history import Committed, Partition, Seen, Sent, Transaction
from barnabas.sim.requests import Got
from barnabas.sim.story import tell
from barnabas.sim.workloads.copier import Copier
from barnabas.sim.workloads.reader import Reader
from barnabas.sim.world import World

TX: Partition = ("tx", 0)
COPIES: Partition = ("copies", 0)


@pytest.fixture
def world() -> Iterator[World]:
    """Nobody runs in it: what happened is written down by the test."""
    with World(1) as made:
        made.losses.flushed |= {"tx": True, "copies": True, "__consumer_offsets": True}
        yield made
        made.run_for(0.01)  # a workload that never began is a coroutine that nobody awaited


def sent(*values: bytes, base: int = 0, partition: Partition = TX, acked: bool = True, era: int = 0) -> Sent:
    made = Sent("p", partition, values, True, 1001.0, attempts=2, base_offset=base if acked else -1, era=era)
    made.acked_at = 1002.0 if acked else None
    return made


def seen(offset: int, value: bytes, reader: str = "r1", committed_only: bool = False, era: int = 0) -> Seen:
    return Seen(reader, 1003.0, era, committed_only, TX, offset, value, offset)


def final(*records: tuple[int, bytes], committed: list[tuple[int, bytes]] | None = None) -> Final:
    return Final({TX: list(records)}, {TX: list(records) if committed is None else committed, COPIES: []})


def found(world: World, given: Final) -> list[str]:
    return [problem for check in CHECKERS for problem in check(world, given)]


def test_what_was_acknowledged_is_there(world: World) -> None:
    world.history.sent += [sent(b"p/1", b"p/2"), sent(b"p/3", base=2, acked=False)]
    assert found(world, final((0, b"p/1"), (1, b"p/2"))) == []
    assert found(world, final((0, b"p/1"))) == [
        "H1 ('tx', 0): b'p/2', acknowledged at 2.0000 with offset 1, is not there (nothing is)"
    ]
    (problem,) = found(world, final((0, b"p/2"), (1, b"p/4")))
    assert problem.startswith("H1") and "b'p/2' is" in problem


def test_what_a_power_loss_may_take_is_excused(world: World) -> None:
    world.history.sent.append(sent(b"p/1"))
    world.losses.flushed["tx"] = False
    assert len(found(world, final())) == 1
    world.losses.struck(world.computers[0])  # the only copy
    assert found(world, final()) == []
    world.history.sent.append(sent(b"p/2", era=1))  # and what came after it is promised again
    assert [each[:2] for each in found(world, final())] == ["H1"]
    world.losses.cut.add(TX)  # a link follows another cluster
    assert found(world, final()) == []


def test_no_record_is_there_twice(world: World) -> None:
    assert found(world, final((0, b"plain/1"), (1, b"plain/1x"), (2, b"copy a"), (3, b"copy a"))) == []
    assert "H2 ('tx', 0): b'p/1' is there twice, at 0 and 1" in found(world, final((0, b"p/1"), (1, b"p/1")))


def test_an_offset_holds_one_value(world: World) -> None:
    world.history.sent += [sent(b"p/1"), sent(b"p/2", acked=False)]
    world.history.seen += [seen(0, b"p/1"), seen(0, b"p/1", "r2")]
    given = final((0, b"p/1"))
    assert found(world, given) == []
    world.history.seen.append(seen(0, b"p/2", "r3"))
    assert found(world, given) == ["H3 ('tx', 0) offset 0: b'p/1' for r1, b'p/2' for r3 at 3.0000"]
    world.losses.flushed["tx"] = False
    world.history.seen[-1] = seen(0, b"p/2", "r3", era=1)  # after a power loss the offset may be another's
    assert found(world, given) == []
    world.losses.damaged.add(TX)
    world.history.seen.append(seen(5, b"x/9"))
    assert found(world, given) == ["S7 ('tx', 0) offset 5: b'x/9' was never sent there"]


@pytest.mark.parametrize(
    ("outcome", "there", "said"),
    [
        ("committed", 2, ""),
        ("aborted", 0, ""),
        ("unknown", 2, ""),
        ("unknown", 0, ""),
        ("aborted", 1, "H4 t1 was aborted; 1 of its records are read"),
        ("open", 2, "H4 t1 was open; 2 of its records are read"),
        ("committed", 1, "H5 t1 was committed; 1 of 2 records are read"),
        ("unknown", 1, "H5 t1: 1 of 2 records are read"),
    ],
)
def test_a_transaction_is_read_whole_or_not_at_all(world: World, outcome: str, there: int, said: str) -> None:
    values = [(0, b"a"), (1, b"b")]
    world.history.transactions.append(Transaction("t1", 1001.0, [(TX, value) for _, value in values], outcome=outcome))
    problems = found(world, Final({TX: values}, {TX: values[:there], COPIES: []}))
    assert problems == ([said] if said else [])


def test_an_aborted_record_is_read_by_nobody_at_any_time(world: World) -> None:
    world.history.transactions.append(Transaction("t1", 1001.0, [(TX, b"a")], outcome="aborted"))
    world.history.sent.append(sent(b"a", acked=False))
    world.history.seen.append(seen(0, b"a"))
    given = final((0, b"a"), committed=[])
    assert found(world, given) == []
    world.history.seen.append(seen(0, b"a", "r2", committed_only=True))
    assert found(world, given) == ["H4 r2 read b'a' of t1 at 3.0000; it was aborted"]


def test_what_is_copied_is_there_once(world: World) -> None:
    copier = Copier(world, "copier0")
    copier.place = 2
    everything = [(0, b"a"), (1, b"b")]
    copied = [(0, b"copy a #c-1"), (1, b"copy b #c-1")]
    assert found(world, Final({TX: everything}, {TX: everything, COPIES: copied})) == []
    again = [*copied, (2, b"copy a #c-2")]
    assert found(world, Final({TX: everything}, {TX: everything, COPIES: again})) == ["H6 b'a' is there 2 times"]
    (passed,) = found(world, Final({TX: everything}, {TX: everything, COPIES: copied[:1]}))
    assert passed == "H6 b'b' at 1 was passed over (the place is 2)"


def test_records_of_a_producer_stand_in_order(world: World) -> None:
    assert found(world, final((0, b"p/1"), (1, b"q/1"), (5, b"p/2"))) == []
    assert "H7 ('tx', 0) offset 1: b'p/1' behind number 2" in found(world, final((0, b"p/2"), (1, b"p/1")))
    assert "H7 ('tx', 0): offsets do not rise" in found(world, final((1, b"p/1"), (1, b"p/2")))


def committed(offset: int, at: float, era: int = 0) -> Committed:
    return Committed("g", TX, offset, at, era)


def test_a_committed_offset_does_not_go_back(world: World) -> None:
    history = world.history
    history.committed.append(committed(10, 1001.0))
    history.fetched_offsets += [committed(5, 1000.5), committed(10, 1002.0)]
    assert found(world, final()) == []
    history.fetched_offsets.append(committed(7, 1003.0))
    assert found(world, final()) == ["H8 group g on ('tx', 0): offset 7 read at 3.0000, but 10 had been accepted"]
    history.unanswered_commits.append(committed(7, 1000.0))  # may be carried out at any later time
    assert found(world, final()) == []
    history.unanswered_commits.clear()
    world.losses.flushed["__consumer_offsets"] = False
    history.fetched_offsets[-1] = committed(7, 1003.0, era=1)  # a power loss took the commit back
    assert found(world, final()) == []


def test_a_partition_has_one_owner_in_a_generation(world: World) -> None:
    owners = world.history.owners
    owners += [(1001.0, "g", 1, "a", frozenset({TX})), (1002.0, "g", 2, "b", frozenset({TX}))]
    assert found(world, final()) == []
    owners.append((1003.0, "g", 2, "c", frozenset({TX})))
    assert found(world, final()) == ["H8 g generation 2: ('tx', 0) owned by b and c (at 3.0000)"]


def test_a_generation_that_was_followed_is_over(world: World) -> None:
    history = world.history
    history.owners += [(1001.0, "g", 1, "a", frozenset()), (1002.0, "g", 2, "b", frozenset())]
    history.heartbeats += [(1001.5, "g", 1, "a"), (1003.0, "g", 2, "b")]
    assert found(world, final()) == []
    history.heartbeats.append((1004.0, "g", 1, "a"))
    (problem,) = found(world, final())
    assert problem.startswith("H8 g: a heartbeat of a in generation 1, asked at 4.0000, was accepted")


def test_a_stranger_has_written_and_made_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(world, final((0, b"stranger/1"))) == ["H9 tx-0 has b'stranger/1' of a stranger at 0"]
    topic = TopicImage("stranger-1", b"i" * 16, (), {})
    monkeypatch.setattr(world, "newest_image", lambda: MetadataImage(topics={"stranger-1": topic}))
    assert found(world, final()) == ["H9 a stranger has created stranger-1"]


# --- inside the nodes -----------------------------------------------------------------------------------------------


def test_an_epoch_has_one_leader(world: World) -> None:
    leaders = world.leaders
    leaders.told("client1", TX, b"t", 4, 1)
    leaders.told("client2", TX, b"t", 4, 1)
    leaders.told("client2", TX, b"t", 5, 2)
    leaders.told("client2", TX, b"t", 6, -1)
    assert leaders.problems == []
    for _ in range(2):  # said once
        leaders.told("client3", TX, b"t", 5, 3)
    assert leaders.problems == ["S1 ('tx', 0) epoch 5: node2 leads it for client2, node3 for client3"]


def test_epochs_do_not_fall(world: World) -> None:
    def image(leader_epoch: int, partition_epoch: int) -> MetadataImage:
        part = PartitionImage(1, leader_epoch, (1,), (1,), partition_epoch, ())
        return MetadataImage(topics={"tx": TopicImage("tx", b"t", (part,), {})})

    computer, leaders = world.computers[0], world.leaders
    leaders.published(computer, MetadataImage(), image(4, 4))
    leaders.published(computer, image(4, 4), image(5, 6))
    assert leaders.problems == []
    leaders.published(computer, image(5, 6), image(3, 5))
    assert leaders.problems == [
        "S1 ('tx', 0): the leader epoch fell from 5 to 3 on node1",
        "S1 ('tx', 0): the partition epoch fell on node1",
    ]


def test_a_high_watermark_does_not_fall_for_a_reader(world: World) -> None:
    reader = Reader(world, "r1")
    told = Got(0, 10, 10, [], 0, leader_epoch=4)
    world.watermarks.told(reader, TX, told)
    world.watermarks.told(reader, TX, told._replace(leader_epoch=5, high_watermark=8, last_stable_offset=8))
    assert world.watermarks.problems == []  # a new leader may know less for a while
    world.watermarks.told(reader, TX, told._replace(high_watermark=9, last_stable_offset=9))
    world.watermarks.told(reader, TX, told._replace(last_stable_offset=11))
    assert world.watermarks.problems == [
        "S3 ('tx', 0): high watermark 9 told to r1 by node1 in epoch 4, after 10",
        "S3 ('tx', 0): last stable offset 11 above high watermark 10",
    ]
    assert world.watermarks.highest[TX] == 10


def test_what_was_rebuilt_is_what_was_in_memory() -> None:
    assert list(differences({"a": 1}, {"a": 1})) == []
    assert list(differences({"a": 1, "b": 2}, {"a": 3})) == [
        "S5 a: 1 in memory, 3 rebuilt",
        "S5 b: 2 in memory, None rebuilt",
    ]


def test_requests_are_answered_once_faults_are_over(world: World) -> None:
    world.history.timeouts += [(1005.0, 1013.0, "r1", 1, "10.0.0.1"), (1030.0, 1038.0, "r2", 1, "10.0.0.1")]
    assert list(unanswered(world, 1010.0)) == [
        "S8 r2: no answer from 10.0.0.1 to API 1, asked at 30.0000, given up at 38.0000; faults were over at 10.0000"
    ]


def test_what_holds_the_loop_in_both_runs_of_a_seed_is_a_problem() -> None:
    first, again = CallbackCost(), CallbackCost()
    slow = LOOP_BUDGET_MS * 1_000_000 + 1
    first.took(slow - 1, 1, "node1", print)  # within the budget
    first.took(9 * slow, 2, "node1", print)  # an import, or a moment of a busy machine
    again.took(slow, 3, "node1", print)
    assert list(held_in_both(first, again)) == []
    held = test_what_holds_the_loop_in_both_runs_of_a_seed_is_a_problem
    for cost, factor in ((first, 3), (again, 2)):
        cost.took(factor * slow, 4, "node2", held)
        cost.took(slow, 5, "node1", print)
    assert list(held_in_both(first, again)) == [
        f"{LOOP_HELD} for {2 * LOOP_BUDGET_MS} ms of CPU by node2: {held.__name__}",
        f"{LOOP_HELD} for {LOOP_BUDGET_MS} ms of CPU by node1: print",
    ]
    assert (first.worst_name, round(first.worst_ms)) == ("node1: print", 9 * LOOP_BUDGET_MS)


def test_the_story_of_a_problem_has_what_happened_to_its_records(world: World) -> None:
    world.trace.note("node1 killed")
    history = world.history
    history.sent += [
        sent(b"p/1"),
        replace(sent(b"p/1", acked=False), error="NOT_LEADER"),
        sent(b"p/2", partition=COPIES),
    ]
    history.seen.append(seen(0, b"p/1"))
    history.transactions.append(Transaction("t1", 1001.5, [(TX, b"p/1")], outcome="aborted"))
    text = "\n".join(tell(world, "H1 ('tx', 0): b'p/1', acknowledged"))
    for part in ("node1 killed", "acknowledged at offset 0", "refused: NOT_LEADER", "r1 reads b'p/1' at offset 0"):
        assert part in text
    assert "t1 begins; outcome: aborted" in text and "p/2" not in text

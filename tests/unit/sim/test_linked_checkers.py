"""Each checker of two linked clusters, given logs and histories in which its rule holds and some that break it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from barnabas.core.cluster.image import MetadataImage, PartitionImage, TopicImage
from barnabas.sim.checkers import Final
from barnabas.sim.checkers.linked import l1_nothing_missing, l3_equal, l4_groups, l5_transactions, l7_cut_is_kept
from barnabas.sim.checkers.linked.logs import Batch, LogView, digest
from barnabas.sim.history import Partition, Seen, Sent, Transaction
from barnabas.sim.linked.pair import Pair, Phase
from barnabas.sim.world import World

TX: Partition = ("tx", 0)
LINKED_ID = "AAAAAAAAAAAAAAAAAAAAAg"  # of bytes 0...2


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Nobody runs in it."""
    source = World(1, name="source")
    made = Pair(source, World(1, name="target", beside=source))
    for world in source.clusters:
        world.losses.flushed["tx"] = True
    with source:
        yield made


def log(*batches: tuple[int, int, bytes], start: int = 0, end: int | None = None, epoch: int = 1) -> LogView:
    """Batches as base offset, next offset and bytes."""
    made = {base: Batch(epoch, following, digest(data), False) for base, following, data in batches}
    return LogView(start, batches[-1][1] if end is None else end, made)


Give = Callable[[LogView | None, LogView | None], None]


@pytest.fixture
def logs(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Give:
    """Says what the leaders of source and target have."""

    def give(there: LogView | None, here: LogView | None) -> None:
        def log_of(world: World, partition: Partition) -> LogView | None:
            return there if world is pair.source else here

        def end_of(world: World, partition: Partition) -> int | None:
            view = log_of(world, partition)
            return None if view is None else view.high_watermark

        for module in (l1_nothing_missing, l3_equal, l7_cut_is_kept):
            monkeypatch.setattr(module, "log_of", log_of)
        monkeypatch.setattr(l3_equal, "end_of", end_of)

    return give


FULL = log((0, 2, b"a"), (2, 5, b"b"))


def test_all_that_a_promotion_promised_is_at_the_target(pair: Pair, logs: Give) -> None:
    pair.promised[TX] = 5
    logs(FULL, FULL)
    assert list(l1_nothing_missing.at_promotion(pair, [TX])) == []
    logs(FULL, log((0, 2, b"a"), end=5))
    assert list(l1_nothing_missing.at_promotion(pair, [TX])) == [
        "L1 ('tx', 0): missing at 2, though promote said that all below 5 is there"
    ]
    logs(FULL, log((0, 2, b"a"), (2, 5, b"other")))
    (problem,) = l1_nothing_missing.at_promotion(pair, [TX])
    assert "another batch at 2" in problem
    pair.promised[TX] = 2
    logs(FULL, log((0, 2, b"a")))
    assert list(l1_nothing_missing.at_promotion(pair, [TX])) == ["L1 ('tx', 0): promoted at 2, the source ends at 5"]
    pair.planned = False  # with what was there
    assert list(l1_nothing_missing.at_promotion(pair, [TX])) == []


def test_what_faults_took_is_not_asked_for(pair: Pair, logs: Give) -> None:
    pair.promised[TX] = 5
    logs(FULL, log((0, 2, b"a"), end=5))
    pair.source.losses.damaged.add(TX)
    assert list(l1_nothing_missing.at_promotion(pair, [TX])) == []
    assert list(l1_nothing_missing.at_promotion(pair, [("other", 0)])) == []


def test_a_topic_that_the_source_has_made_anew_is_another(
    pair: Pair, logs: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    def image(topic_id: bytes, **configs: str) -> MetadataImage:
        part = PartitionImage(1, 1, (1,), (1,), 1, ())
        named = {name.replace("_", "."): value for name, value in configs.items()}
        return MetadataImage(topics={"tx": TopicImage("tx", topic_id, (part,), named)})

    pair.promised[TX] = 5
    logs(FULL, log((0, 2, b"a"), end=5))
    monkeypatch.setattr(pair.source, "newest_image", lambda: image(bytes(15) + b"\2"))
    monkeypatch.setattr(pair.target, "newest_image", lambda: image(b"own" + bytes(13), link_topic_id=LINKED_ID))
    assert pair.canonical_id(pair.source, "tx") == pair.canonical_id(pair.target, "tx")
    assert len(list(l1_nothing_missing.at_promotion(pair, [TX]))) == 1
    monkeypatch.setattr(pair.source, "newest_image", lambda: image(bytes(15) + b"\3"))
    assert list(l1_nothing_missing.at_promotion(pair, [TX])) == []


def test_what_was_deleted_at_the_source_is_deleted_at_the_target(pair: Pair, logs: Give) -> None:
    logs(log((4, 5, b"b"), start=4), log((4, 5, b"b"), start=4))
    assert list(l1_nothing_missing.when_drained(pair, [TX])) == []
    logs(log((4, 5, b"b"), start=4), FULL)
    assert list(l1_nothing_missing.when_drained(pair, [TX])) == [
        "L1 ('tx', 0): begins at 0 in the target, at 4 in the source"
    ]


def sent(*values: bytes, base: int) -> Sent:
    return Sent("p", TX, values, True, 1001.0, acked_at=1002.0, base_offset=base)


def test_what_producers_of_the_source_were_told_is_at_the_target(pair: Pair) -> None:
    pair.promised[TX] = 2
    pair.source.history.sent += [sent(b"a", b"b", base=0), sent(b"late", base=2)]
    assert list(l1_nothing_missing.check(pair, Final({TX: [(0, b"a"), (1, b"b")]}, {}))) == []
    (problem,) = l1_nothing_missing.check(pair, Final({TX: [(0, b"a"), (1, b"x")]}, {}))
    assert problem.startswith("L1 ('tx', 0): b'b', acknowledged by the source with offset 1, is not in the target")


def test_logs_are_equal_when_a_link_has_caught_up(pair: Pair, logs: Give) -> None:
    logs(FULL, FULL)
    assert l3_equal.caught_up(pair, [TX]) and list(l3_equal.check(pair, [TX])) == []
    trimmed = log((2, 5, b"b"), start=2)
    logs(FULL, trimmed)  # what one of them has deleted is not compared
    assert list(l3_equal.check(pair, [TX])) == []
    logs(FULL, log((0, 2, b"a")))
    assert not l3_equal.caught_up(pair, [TX])
    assert list(l3_equal.check(pair, [TX])) == [
        "L3 ('tx', 0): ends at 5 in the source, at 2 in the target, though nobody writes any more"
    ]
    logs(FULL, log((0, 2, b"a"), (2, 5, b"own")))
    (problem,) = l3_equal.check(pair, [TX])
    assert problem.startswith("L3 ('tx', 0) at 2: up to 5 in epoch 1 (")
    logs(FULL, log((0, 2, b"a"), end=5))
    (problem,) = l3_equal.check(pair, [TX])
    assert problem.endswith("nothing in the target")
    logs(None, FULL)
    assert not l3_equal.seen(pair.source, TX)
    assert list(l3_equal.check(pair, [TX])) == ["S8 ('tx', 0) has no leader in the source"]


def test_a_group_is_where_it_was_after_a_planned_promotion(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"source": {("g", TX): 5}, "target": {("g", TX): 5}}
    monkeypatch.setattr(l4_groups, "offsets_in", lambda world: kept[world.name])
    pair.promised[TX] = 9
    assert list(l4_groups.at_planned_promotion(pair, [TX])) == []
    kept["target"] = {("g", TX): 4}
    assert list(l4_groups.at_planned_promotion(pair, [TX])) == [
        "L4 group g is at 5 of ('tx', 0) in the source, at 4 in the target, which is promoted"
    ]
    pair.promised[TX] = 4  # beyond what is there nobody has read
    assert list(l4_groups.at_planned_promotion(pair, [TX])) == []


def test_a_group_is_never_beyond_what_was_committed(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"source": {("g", TX): 5}, "target": {("g", TX): 5}}
    monkeypatch.setattr(l4_groups, "offsets_in", lambda world: kept[world.name])
    for computer in pair.source.computers:
        computer.ready = True
    groups = l4_groups.GroupsBehind(pair)
    groups.look(1)
    assert groups.problems == []
    kept["target"] = {("g", TX): 6}
    groups.look(2)
    groups.look(3)  # said once
    assert groups.problems == ["L4 group g is at 6 of ('tx', 0), which nobody has committed"]
    pair.phase = Phase.PROMOTED
    kept["target"] = {("g", TX): 7}  # its own by now
    groups.look(4)
    assert len(groups.problems) == 1


@pytest.mark.parametrize(
    ("outcome", "visible", "said"),
    [
        ("committed", [(0, b"a")], ""),
        ("aborted", [], ""),
        (
            "aborted",
            [(0, b"a")],
            "L5 t was aborted at the source; the target shows",
        ),
        ("open", [(0, b"a")], "L5 t was open at the source; the target shows"),
        ("committed", [], "L5 t was committed at the source; the target does not show"),
    ],
)
def test_transactions_of_the_source_at_the_target(
    pair: Pair, outcome: str, visible: list[tuple[int, bytes]], said: str
) -> None:
    pair.source.history.transactions.append(Transaction("t", 1001.0, [(TX, b"a")], outcome=outcome))
    found = [each.split(" (")[0] for each in l5_transactions.check(pair, Final({}, {TX: visible}))]
    assert found == ([said] if said else [])


def test_an_aborted_record_was_shown_to_a_reader_of_the_target(pair: Pair) -> None:
    pair.source.history.transactions.append(Transaction("t", 1001.0, [(TX, b"a")], outcome="aborted"))
    pair.target.history.seen.append(Seen("r", 1003.0, 0, True, TX, 0, b"a", 0))
    assert len(list(l5_transactions.check(pair, Final({}, {TX: []})))) == 1


def test_what_a_reverse_cut_off_is_kept(pair: Pair, logs: Give) -> None:
    logs(log((0, 2, b"a"), (2, 5, b"own")), log((0, 2, b"a"), (2, 4, b"theirs")))
    assert l7_cut_is_kept.common_ends(pair, [TX]) == {TX: 2}
    logs(FULL, log((0, 2, b"a")))  # the source has more, of which the target knows nothing
    pair.common = l7_cut_is_kept.common_ends(pair, [TX])
    assert pair.common == {TX: 2}
    pair.source.history.sent += [sent(b"shared", base=0), sent(b"own", base=2)]
    (problem,) = l7_cut_is_kept.check(pair)
    assert problem.startswith("L7 ('tx', 0): b'own', acknowledged by the source with offset 2, was cut off at 2")
    pair.source.losses.damaged.add(TX)
    assert list(l7_cut_is_kept.check(pair)) == []

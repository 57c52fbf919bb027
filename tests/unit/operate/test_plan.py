"""The plan of `cluster balance` and `cluster drain`, on any cluster hypothesis can think of."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.operate.placement.nouns import Broker, Partition
from barnabas.operate.placement.plan import Move, NoRoom, plan


def broker(number: int, rack: str | None = None, up: bool = True) -> Broker:
    return Broker(number, "127.0.0.1", 9092 + number, rack, up)


def after(partitions: list[Partition], moves: list[Move]) -> list[tuple[int, ...]]:
    new = {(move.partition.topic, move.partition.index): move.replicas for move in moves}
    return [new.get((each.topic, each.index), each.replicas) for each in partitions]


def parts(*replicas: tuple[int, ...]) -> list[Partition]:
    return [Partition("t", i, each[0], each, each) for i, each in enumerate(replicas)]


def test_a_new_node_gets_its_share_and_nothing_else_moves() -> None:
    partitions = parts((1, 2), (2, 1), (1, 2), (2, 1), (1, 2), (2, 1))
    moves = plan([broker(1), broker(2), broker(3)], partitions, {})
    load = Counter(each for replicas in after(partitions, moves) for each in replicas)
    assert load == {1: 4, 2: 4, 3: 4}
    assert sum(len(move.added) for move in moves) == 4


def test_a_balanced_cluster_stays_as_it_is() -> None:
    assert plan([broker(1), broker(2), broker(3)], parts((1, 2, 3), (2, 3, 1), (3, 1, 2)), {}) == []


def test_small_partitions_move_before_large_ones() -> None:
    partitions = parts((1,), (1,), (1,), (1,))
    sizes = {("t", index, 1): size for index, size in enumerate((1000, 10, 2000, 20))}
    moves = plan([broker(1), broker(2)], partitions, sizes)
    assert sorted(move.partition.index for move in moves) == [1, 3]


def test_partitions_of_nearly_the_same_size_do_not_change_places() -> None:
    """Two of 120 and 134 MB against one of 131: a swap would move 265 MB to even out 3."""
    partitions = parts((1,), (3,), (2,))
    sizes = {("t", 0, 1): 120 << 20, ("t", 1, 3): 134 << 20, ("t", 2, 2): 131 << 20}
    moves = plan([broker(1), broker(2), broker(3)], partitions, sizes, frozenset({3}))
    assert [move.partition.index for move in moves] == [1]


def test_draining_a_node_that_nobody_can_replace_says_so() -> None:
    with pytest.raises(NoRoom, match="3 replicas and only 2 nodes"):
        plan([broker(1), broker(2), broker(3)], parts((1, 2, 3)), {}, frozenset({3}))


def test_replicas_stay_on_different_racks() -> None:
    brokers = [broker(1, "a"), broker(2, "a"), broker(3, "b"), broker(4, "b")]
    partitions = parts((1, 3), (1, 3), (1, 3), (1, 3))
    racks = {each.id: each.rack for each in brokers}
    for replicas in after(partitions, plan(brokers, partitions, {})):
        assert len({racks[each] for each in replicas}) == 2


def test_a_new_node_gets_its_share_of_the_topic_with_data_too() -> None:
    """42 empty partitions of an internal topic are no substitute for the only topic that is used."""
    brokers = [broker(number) for number in (1, 2, 3, 4)]
    rotated = [(1, 2, 3), (2, 3, 1), (3, 1, 2)]
    partitions = [Partition("__consumer_offsets", i, 1, rotated[i % 3], rotated[i % 3]) for i in range(50)]
    partitions += [Partition("orders", i, 1, rotated[i % 3], rotated[i % 3]) for i in range(6)]
    sizes = {("orders", index, node): 1 << 30 for index in range(6) for node in (1, 2, 3)}
    placed = after(partitions, plan(brokers, partitions, sizes))
    for name in ("orders", "__consumer_offsets"):
        of_topic = [replicas for each, replicas in zip(partitions, placed, strict=True) if each.topic == name]
        for count in (Counter(n for replicas in of_topic for n in replicas), Counter(r[0] for r in of_topic)):
            assert len(count) == 4 and max(count.values()) - min(count.values()) <= 1, (name, count)
    leads = Counter(replicas[0] for replicas in placed)
    assert max(leads.values()) - min(leads.values()) <= 1, leads


def test_partitions_of_different_size_are_spread_by_bytes() -> None:
    partitions = parts((1,), (1,), (2,), (2,))
    sizes = {("t", 0, 1): 9 << 30, ("t", 1, 1): 8 << 30, ("t", 2, 2): 1 << 30, ("t", 3, 2): 2 << 30}
    moves = plan([broker(1), broker(2)], partitions, sizes)
    held: Counter[int] = Counter()
    for each, replicas in zip(partitions, after(partitions, moves), strict=True):
        held[replicas[0]] += sizes["t", each.index, each.replicas[0]]
    assert abs(held[1] - held[2]) <= 2 << 30 and len(moves) == 2


def test_leadership_is_passed_on_where_two_nodes_share_no_partition() -> None:
    partitions = parts((1, 2), (1, 2), (1, 2), (1, 2), (2, 3), (2, 3), (3, 2))
    placed = after(partitions, plan([broker(1), broker(2), broker(3)], partitions, {}))
    leads = Counter(replicas[0] for replicas in placed)
    assert max(leads.values()) - min(leads.values()) <= 1, leads


def test_ten_thousand_partitions_are_planned_in_seconds() -> None:
    partitions = [
        Partition(f"t{i % 100}", i // 100, 1, ids, ids)
        for i in range(10_000)
        for ids in [(1 + i % 3, 1 + (i + 1) % 3, 1 + (i + 2) % 3)]
    ]
    begun = time.process_time()
    placed = after(partitions, plan([broker(number) for number in (1, 2, 3, 4)], partitions, {}))
    assert time.process_time() - begun < 20
    load = Counter(each for replicas in placed for each in replicas)
    assert max(load.values()) - min(load.values()) <= 1


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Broker], list[Partition]]:
    count = draw(st.integers(2, 6))
    racks: list[Any] = draw(st.sampled_from(([None], ["a", "b"], ["a", "b", "c"])))
    brokers = [broker(i + 1, racks[i % len(racks)]) for i in range(count)]
    factor = draw(st.integers(1, count - 1))
    chosen = st.permutations(range(1, count + 1)).map(lambda ids: tuple(ids[:factor]))
    placed = draw(st.lists(chosen, min_size=1, max_size=30))
    topics = draw(st.integers(1, 4))
    return brokers, [Partition(f"t{i % topics}", i // topics, each[0], each, each) for i, each in enumerate(placed)]


@given(clusters(), st.booleans())
def test_every_plan_is_sound(cluster: tuple[list[Broker], list[Partition]], drains: bool) -> None:
    brokers, partitions = cluster
    leaving = frozenset({brokers[0].id}) if drains else frozenset[int]()
    moves = plan(brokers, partitions, {}, leaving)
    placed = after(partitions, moves)
    for before, replicas in zip(partitions, placed, strict=True):
        assert len(set(replicas)) == len(before.replicas), "as many replicas as before, on different nodes"
        assert leaving.isdisjoint(replicas)
    usable = [each.id for each in brokers if each.id not in leaving]
    load = Counter(each for replicas in placed for each in replicas)
    if not any(each.rack for each in brokers):
        assert max(load[each] for each in usable) - min(load[each] for each in usable) <= 1
    again = [Partition(p.topic, p.index, r[0], r, r) for p, r in zip(partitions, placed, strict=True)]
    assert plan(brokers, again, {}, leaving) == [], "what is balanced stays"


ZONES = [broker(1, "a"), broker(2, "a"), broker(3, "b"), broker(4, "b"), broker(5, "c"), broker(6, "c")]
ZONE_OF = {each.id: each.rack for each in ZONES}


def zones_of(replicas: tuple[int, ...]) -> set[str | None]:
    return {ZONE_OF[each] for each in replicas}


def test_replicas_that_share_a_zone_are_spread() -> None:
    partitions = parts((1, 2, 3), (1, 2, 3), (3, 4, 1), (5, 6, 1), (1, 3, 5))
    moves = plan(ZONES, partitions, {})
    assert all(len(zones_of(each)) == 3 for each in after(partitions, moves))
    moved = [
        Partition(each.topic, each.index, new[0], new, new)
        for each, new in zip(partitions, after(partitions, moves), strict=True)
    ]
    assert plan(ZONES, moved, {}) == [], "a second plan is empty"


def test_a_zone_that_is_down_keeps_its_replicas() -> None:
    brokers = [*ZONES[:4], broker(5, "c", up=False), broker(6, "c", up=False)]
    partitions = parts((1, 3, 5), (2, 4, 6), (3, 1, 5), (4, 2, 6))
    assert all(not move.added for move in plan(brokers, partitions, {}))


def test_draining_a_node_keeps_zones() -> None:
    partitions = parts((1, 3, 5), (3, 5, 1), (5, 1, 3), (2, 4, 6), (4, 6, 2), (6, 2, 4))
    for leaving in ZONE_OF:
        placed = after(partitions, plan(ZONES, partitions, {}, frozenset({leaving})))
        assert all(leaving not in each and len(zones_of(each)) == 3 for each in placed)


@given(
    st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=4, unique=True), min_size=1, max_size=12),
    st.sampled_from([(), ("b",), ("c", "a"), ("nowhere",)]),
    st.sampled_from([frozenset(), frozenset({1}), frozenset({3, 4})]),
)
def test_any_plan_has_as_many_zones_as_there_can_be(
    replicas: list[list[int]], racks: tuple[str, ...], leaving: frozenset[int]
) -> None:
    partitions = parts(*map(tuple, replicas))
    try:
        placed = after(partitions, plan(ZONES, partitions, {}, leaving, {"t": racks}))
    except NoRoom:
        return
    left = {ZONE_OF[each] for each in ZONE_OF if each not in leaving}
    best = next((each for each in racks if each in left), None)
    for each in placed:
        assert len(zones_of(each)) == min(len(each), len(left)), each
        assert best is None or ZONE_OF[each[0]] == best, each


def test_leaders_are_spread_over_the_nodes_of_the_preferred_zone() -> None:
    partitions = parts((1, 3, 5), (3, 5, 2), (5, 1, 4), (2, 4, 6), (4, 6, 1), (6, 2, 3))
    placed = after(partitions, plan(ZONES, partitions, {}, preferred={"t": ("c", "b")}))
    assert Counter(each[0] for each in placed) == {5: 3, 6: 3}
    assert all([ZONE_OF[node] for node in each] == ["c", "b", "a"] for each in placed), "and the others in their order"

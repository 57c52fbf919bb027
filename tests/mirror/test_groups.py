"""A group goes on at the other side: it misses nothing, and reads again no more than `mirror status` says."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Producer

from tests.linked_clusters.pair import commit, committed, create, produce
from tests.mirror.sides import Sides, has_values, read_on
from tests.support.members import QUIET, until


def _group(sides: Sides, source: str, group: str) -> list[dict[str, Any]]:
    return [each for each in sides.status(source)["groups"] if each["group"] == group]


def _is_translated(sides: Sides, source: str, group: str, offsets: dict[int, int]) -> bool:
    """Whether the target has what was committed last."""
    found = {each["partition"]: each for each in _group(sides, source, group)}
    return all(
        partition in found
        and found[partition]["at_source"] == offset
        and found[partition]["at_target"] == found[partition]["translated"]
        for partition, offset in offsets.items()
    )


def _in_transactions(bootstrap: str, topic: str, values: list[str], partitions: int) -> None:
    """With markers between the records, and transactions that were taken back."""
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "transactional.id": f"t-{topic}"})
    producer.init_transactions(30)
    for at in range(0, len(values), 10):
        for is_kept in (at % 30 != 0, True):
            producer.begin_transaction()
            for number, value in enumerate(values[at : at + 10], at):
                producer.produce(topic, value if is_kept else "taken back", partition=number % partitions)
            producer.flush(30)
            producer.commit_transaction(30) if is_kept else producer.abort_transaction(30)
            if is_kept:
                break


def _fails_over(sides: Sides, source: str, first: list[str]) -> None:
    here, there = (sides.east, sides.west) if source == "east" else (sides.west, sides.east)
    group, copy = f"billing-{source}", f"{source}.orders"
    has_values(there, copy, first)
    read = read_on(here, group, ["orders"], most=len(first) * 2 // 3)
    offsets = committed(here, group, "orders", 2)
    until(lambda: _is_translated(sides, source, group, offsets), f"{group} is translated")
    again_max = sum(each["again_max"] for each in _group(sides, source, group))

    later = [f"{source} later {number}" for number in range(100)]
    produce(here, "orders", later)
    has_values(there, copy, first + later)
    went_on = read_on(there, group, [copy])
    assert set(read) | set(went_on) == {*first, *later}, "records were missed"
    assert len(read) + len(went_on) - len(first) - len(later) <= again_max
    assert again_max <= 30

    # Home again: what was read there is not read again here, beyond the bound.
    last = [f"{source} at last {number}" for number in range(50)]
    produce(here, "orders", last)
    ends = committed(there, group, copy, 2)
    assert set(ends) == {0, 1}
    until(
        lambda: sum(committed(here, group, "orders", 2).values()) > sum(offsets.values()) + len(first) // 4,
        "the group is brought home",
    )
    home = read_on(here, group, ["orders"])
    assert set(last) <= set(home)
    assert len(home) - len(last) <= 30


def test_groups_fail_over_both_ways_and_come_home(sides: Sides) -> None:
    for bootstrap in (sides.east, sides.west):
        create(bootstrap, "orders", 2)
    sides.mirror("--both", "--topics", "orders", "--groups", "billing.*")
    plain = [f"w{number}" for number in range(600)]
    produce(sides.west, "orders", plain)
    marked = [f"e{number}" for number in range(600)]
    _in_transactions(sides.east, "orders", marked, 2)
    _fails_over(sides, "east", marked)
    _fails_over(sides, "west", plain)


def test_a_group_that_is_ahead_of_the_copy_waits_there(sides: Sides) -> None:
    """Its offset at the target is as far as was copied, and follows; a group that reads there keeps its own."""
    create(sides.east, "orders", 1)
    produce(sides.east, "orders", [f"e{number}" for number in range(100)])
    mirror = sides.mirror("--topics", "orders")
    has_values(sides.west, "east.orders", [f"e{number}" for number in range(100)])
    mirror.stop()
    produce(sides.east, "orders", [f"f{number}" for number in range(50)])
    commit(sides.east, "billing", "orders", {0: 150})
    commit(sides.west, "reader", "east.orders", {0: 90})
    commit(sides.east, "reader", "orders", {0: 10})
    sides.mirror("--topics", "orders")
    until(lambda: committed(sides.west, "billing", "east.orders").get(0, 0) >= 150, "it follows")
    assert read_on(sides.west, "billing", ["east.orders"]) == []
    assert committed(sides.west, "reader", "east.orders") == {0: 90}
    until(lambda: committed(sides.east, "reader", "orders") == {0: 90}, "and was brought home")


def test_the_same_names_need_what_both_have_written(sides: Sides) -> None:
    create(sides.east, "orders", 1)
    sides.mirror("--both", "--same-names", "--topics", "orders", "--groups", "billing")
    has_values(sides.west, "orders", [])
    for round_ in range(5):
        produce(sides.east, "orders", [f"e{round_}-{number}" for number in range(40)])
        produce(sides.west, "orders", [f"w{round_}-{number}" for number in range(40)])
    wanted = [f"{side}{round_}-{number}" for side in "ew" for round_ in range(5) for number in range(40)]
    has_values(sides.east, "orders", wanted)
    has_values(sides.west, "orders", wanted)
    read = read_on(sides.east, "billing", ["orders"], most=250)
    offsets = committed(sides.east, "billing", "orders")
    until(lambda: _is_translated(sides, "east", "billing", offsets), "billing is translated")
    went_on = read_on(sides.west, "billing", ["orders"])
    assert set(read) | set(went_on) == set(wanted), "records were missed"

"""What `link verify` finds where two clusters differ; the sides answer from lists of batches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.cli.common.failure import Failure
from barnabas.cli.link import verifying
from barnabas.cli.link.verifying import Side, Verified, _compare, _compare_groups
from barnabas.wire.batch import iter_batches
from barnabas.wire.records import Record, build_batch


def batch(offset: int, *values: tuple[bytes, bytes | None]) -> bytes:
    records = [Record(index, 1000, key, value, ()) for index, (key, value) in enumerate(values)]
    data = bytearray(build_batch(records))
    data[:8] = offset.to_bytes(8, "big")
    return bytes(data)


class Kept:
    """A partition of a cluster, by its batches."""

    topic = SimpleNamespace(name="orders")
    index = 0

    def __init__(self, *batches: bytes, end: int | None = None) -> None:
        self._batches, self._end = batches, end

    def offset(self, timestamp: int) -> int:
        if timestamp == verifying._EARLIEST:
            return 0
        headers = [header for data in self._batches for _, header in iter_batches(memoryview(data))]
        return self._end if self._end is not None else (headers[-1].last_offset + 1 if headers else 0)

    def batches(self, start: int, end: int) -> Any:
        for data in self._batches:
            ((_, header),) = iter_batches(memoryview(data))
            yield header, data


A, B = batch(0, (b"a", b"1")), batch(1, (b"b", b"2"))
OTHER = batch(1, (b"b", b"3"))


def compared(here: Kept, there: Kept, *, compacted: bool = False) -> Verified:
    result = Verified("east")
    ours: Any = here
    theirs: Any = there
    _compare(result, ours, theirs, compacted=compacted)
    return result


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "_FOLLOWS_S", 0.0)


def test_the_same_batches() -> None:
    found = compared(Kept(A, B), Kept(A, B))
    assert (found.differences, found.partitions, found.batches, found.bytes) == ([], 1, 2, len(A) + len(B))


@pytest.mark.parametrize(
    ("here", "there", "told"),
    [
        (Kept(A, OTHER), Kept(A, B), "orders-0: the batch at 1 is not the source's (a batch at 1 there)"),
        (Kept(A, B), Kept(A, end=2), "orders-0: the batch at 1 is not the source's (nothing there)"),
        (Kept(A, end=2), Kept(A, B), "orders-0: the batch at 1 of the source is not here"),
        (Kept(A, B), Kept(A), "orders-0: ends at 2 here and at 1 at the source"),
        (Kept(A), Kept(A, B), "orders-0: 1 record of the source, from 1 on, did not come in 0 s"),
    ],
)
def test_what_differs_is_said_with_its_place(here: Kept, there: Kept, told: str) -> None:
    assert told in compared(here, there).differences


def test_of_a_compacted_topic_the_last_value_of_each_key_counts() -> None:
    newer = batch(1, (b"a", b"9"))
    assert compared(Kept(A, newer), Kept(newer), compacted=True).differences == []
    deleted = batch(2, (b"a", None))
    assert compared(Kept(A, newer, deleted), Kept(deleted), compacted=True).differences == []
    (told,) = compared(Kept(A, B), Kept(A, OTHER), compacted=True).differences
    assert told == "orders-0: 1 key with another last value, b'b' one"


def test_a_partition_without_a_leader_cannot_be_read() -> None:
    part = SimpleNamespace(partition_index=0, leader_id=-1)
    topic: Any = SimpleNamespace(name="orders", partitions=[part])
    cluster: Any = SimpleNamespace(brokers={1: ("h", 1)})
    with pytest.raises(Failure, match="orders-0 has no leader at the source"):
        _ = Side(cluster, topic, 0, "at the source").leader


def test_offsets_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """An offset beyond what came over is brought as far as the log goes; a group with members goes its own way."""
    here = {"billing": {("orders", 0): 5}, "late": {("orders", 0): 3}}
    there = {
        "billing": {("orders", 0): 9, ("gone", 0): 1, ("orders", 7): 1},
        "late": {("orders", 0): 4},
        "missing": {("orders", 0): 2},
        "live": {("orders", 0): 1},
        "other": {("orders", 0): 1},
    }
    answers = iter([(here, {"live"}), (there, set())])
    monkeypatch.setattr(verifying, "offsets", lambda cluster, topics: next(answers))
    monkeypatch.setattr(Side, "offset", lambda self, timestamp: 5)
    topic: Any = SimpleNamespace(topic_id=b"x", partitions=[None])
    result, cluster = Verified("east"), None
    settings = {"groups": "billing,late,missing,live"}
    nobody: Any = cluster
    _compare_groups(result, nobody, nobody, {"orders": topic}, {"orders": topic}, dict(settings))
    assert result.groups == 3
    assert result.differences == [
        "group late: orders-0 is at 3 here and at 4 at the source",
        "group missing: orders-0 is not here and at 2 at the source",
    ]
    untouched = Verified("east")
    _compare_groups(untouched, nobody, nobody, {}, {}, {"sync.groups": "false"})
    assert untouched.groups == 0

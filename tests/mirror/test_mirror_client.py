"""MirrorMaker 2's own MirrorClient and RemoteClusterUtils read what our mirror keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.linked_clusters.pair import commit, committed, create, produce
from tests.mirror.sides import Sides, has_values, topics_of
from tests.support.connect import all_records
from tests.support.java import JavaTools
from tests.support.members import until


@pytest.fixture
def java(tmp_path: Path) -> Iterator[JavaTools]:
    tools = JavaTools(tmp_path)
    try:
        yield tools
    finally:
        tools.close()


def _told(java: JavaTools, *arguments: str) -> dict[str, str]:
    lines = java.run("MirrorReads", *arguments).out.splitlines()
    return dict(line.split(": ", 1) for line in lines)


def test_mirror_client_reads_ours(sides: Sides, java: JavaTools) -> None:
    create(sides.east, "orders", 2)
    values = [f"e{number}" for number in range(300)]
    places = produce(sides.east, "orders", values)
    sides.mirror("--both", "--topics", "orders")
    has_values(sides.west, "east.orders", values)
    counts = {partition: sum(place[0] == partition for place in places) for partition in (0, 1)}
    wanted = {0: counts[0] // 2, 1: counts[1]}
    commit(sides.east, "billing", "orders", wanted)
    until(lambda: set(committed(sides.west, "billing", "east.orders", 2)) == {0, 1}, "billing is at the target")
    offsets = committed(sides.west, "billing", "east.orders", 2)
    # The first transaction of a partition has no marker before it, so numbers may be equal here; they never exceed.
    assert all(offsets[partition] >= wanted[partition] for partition in (0, 1))
    until(lambda: {"east.heartbeats", "east.checkpoints.internal"} <= topics_of(sides.west), "its topics are there")
    until(lambda: bool(all_records(sides.west, "east.checkpoints.internal")), "checkpoints are there")

    found = _told(java, sides.west, "east", "billing")
    assert found["remote topics of east"] == "[east.heartbeats, east.orders]"
    assert found["heartbeat topics"] == "[east.heartbeats, heartbeats]"
    assert found["checkpoint topics"] == "[east.checkpoints.internal]"
    assert found["upstream clusters"] == "[east]"
    assert (found["hops"], found["hops of nobody"], found["utils hops"]) == ("1", "-1", "1")
    told = f"{{east.orders-0={offsets[0]}, east.orders-1={offsets[1]}}}"
    assert found["offsets"] == found["translated"] == told
    syncs = all_records(sides.east, "mm2-offset-syncs.west.internal")
    newest = {bytes(each.key() or b""): bytes(each.value() or b"") for each in syncs}
    upstream = newest[b"\0\x06orders\0\0\0\x00"][:8]
    assert int.from_bytes(upstream) == counts[0] - 1

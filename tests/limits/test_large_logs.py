"""What lies on the disk in masses: to read it or to judge it holds the loop no longer than LOOP_BUDGET_MS.

The tests write the folders themselves while the node is down; a client would take hours to fill them.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.limits import ABORTED_PER_FETCH_MAX, LOOP_BUDGET_MS
from barnabas.storage.config import LogConfig
from barnabas.storage.indexes.aborted import ENTRY
from barnabas.storage.log import Log
from barnabas.storage.snapshots import encode
from barnabas.wire import apis
from barnabas.wire.batch import iter_batches
from barnabas.wire.markers import build_marker
from barnabas.wire.records import Record, build_batch
from tests.support import measured_node
from tests.support.members import until
from tests.support.servers import ROOT, BarnabasNode
from tests.support.wire import WireClient, create_topic

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("hostile")]
ABORTED = 350_000  # in 50 MiB, what a consumer asks for at once
SMALL_BATCHES = 500_000  # 40 MB
NOW_MS = int(time.time() * 1000)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[BarnabasNode]:
    settings = {"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "100"}
    server = BarnabasNode(tmp_path, settings)
    at = server.command.index("barnabas.cli.main")
    server.command[at : at + 1] = ["tests.support.measured_node", str(held_file(server))]
    server.env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    try:
        server.start()
        yield server
        assert server.alive(), f"the node died\n{server.tail()}"
    finally:
        server.stop()


def held_file(node: BarnabasNode) -> Path:
    return node.data.parent / "held"


def numbered(batches: list[bytes], count: int) -> bytearray:
    """These batches of one record each, again and again, with ascending base offsets (which no CRC covers)."""
    step = b"".join(batches)
    data = bytearray(step * count)
    at, sizes = 0, [len(batch) for batch in batches]
    for offset in range(count * len(batches)):
        struct.pack_into(">q", data, at, offset)
        at += sizes[offset % len(sizes)]
    return data


def write_log(folder: Path, data: bytes | bytearray) -> int:
    """A folder with one segment as a node leaves it behind; gives the end of its log."""
    folder.mkdir()
    (folder / f"{0:020d}.log").write_bytes(data)
    log = Log.open(folder, LogConfig(), clean=False)
    log.close(sync=False)
    (folder / f"{log.log_end_offset:020d}.snapshot").write_bytes(encode([]))
    return log.log_end_offset


def held_since(node: BarnabasNode, start: int) -> list[measured_node.Held]:
    held = measured_node.read(held_file(node), start)
    if os.environ.get("SHOW"):
        print(sorted(held, reverse=True)[:8])
    return [each for each in held if each.milliseconds - each.collecting_ms > LOOP_BUDGET_MS]


def fetch(client: WireClient, offset: int, version: int) -> Any:
    part = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": offset, "last_fetched_epoch": -1,
            "log_start_offset": -1, "partition_max_bytes": 1 << 30}  # fmt: skip
    body = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 55 << 20, "isolation_level": 1, "session_id": 0,
            "session_epoch": -1, "topics": [{"topic": "t", "partitions": [part]}], "forgotten_topics_data": [],
            "rack_id": ""}  # fmt: skip
    return client.call(apis.FETCH, version, body)["responses"][0]["partitions"][0]


def fetch_when_open(client: WireClient, offset: int, version: int) -> Any:
    """A thread opens the folder: until then clients are told to try again."""
    deadline = time.monotonic() + 60
    while (part := fetch(client, offset, version))["error_code"] == ErrorCode.NOT_LEADER_OR_FOLLOWER:
        assert time.monotonic() < deadline, "it is not opened"
        time.sleep(0.05)
    return part


def test_a_fetch_names_a_bounded_number_of_aborted_transactions(node: BarnabasNode) -> None:
    with WireClient(node.bootstrap, 60) as client:
        create_topic(client, "t", 1)
    node.stop()
    data = build_batch([Record(0, NOW_MS, None, b"", ())], producer_id=7, producer_epoch=0, transactional=True)
    marker = build_marker(offset=0, timestamp_ms=NOW_MS, leader_epoch=0, producer_id=7, producer_epoch=0,
                          coordinator_epoch=0, commit=False)  # fmt: skip
    folder = node.data / "t-0"
    end = write_log(folder, numbered([bytes(data), bytes(marker)], ABORTED))
    assert end == 2 * ABORTED
    entries = b"".join(ENTRY.pack(0, 7, 2 * number, 2 * number + 1, 2 * number + 2) for number in range(ABORTED))
    (folder / f"{0:020d}.txnindex").write_bytes(entries)
    node.start()
    start, offset = held_file(node).stat().st_size, 0
    with WireClient(node.bootstrap, 60) as client:
        assert fetch_when_open(client, end - 2, 12)["error_code"] == 0
        for version in (12, 11, 12):
            part = fetch(client, offset, version)
            assert part["error_code"] == 0 and part["high_watermark"] == end
            last = [header.last_offset for _, header in iter_batches(part["records"])][-1]
            named = [(each["producer_id"], each["first_offset"]) for each in part["aborted_transactions"]]
            assert ABORTED_PER_FETCH_MAX <= len(named) <= ABORTED_PER_FETCH_MAX + 1
            assert {(7, first) for first in range(offset + offset % 2, last + 1, 2)} <= set(named)
            offset = last + 1
    assert held_since(node, start) == []


def test_a_spoilt_time_index_is_built_anew_beside_the_loop(node: BarnabasNode) -> None:
    """Its last entry says that the segment has expired, and it has not."""
    with WireClient(node.bootstrap, 60) as client:
        create_topic(client, "t", 1, retention_ms="3600000")
    node.stop()
    batch = bytes(build_batch([Record(0, NOW_MS, None, b"", ())]))
    folder = node.data / "t-0"
    end = write_log(folder, numbered([batch], SMALL_BATCHES))
    (folder / f"{end:020d}.log").write_bytes(b"")  # so that the other one is sealed
    index = folder / f"{0:020d}.timeindex"
    index.write_bytes(struct.pack(">qi", NOW_MS - 86_400_000, end - 1))
    start = held_file(node).stat().st_size
    node.start()
    right = struct.pack(">q", NOW_MS)
    with WireClient(node.bootstrap, 60) as client:
        until(lambda: index.exists() and index.read_bytes()[:8] == right, "the index is built anew")
        client.call(apis.API_VERSIONS, 0, {})
        assert fetch(client, 0, 12)["log_start_offset"] == 0  # nothing was removed
    assert [each for each in held_since(node, start) if "repeat" in each.name or "retention" in each.name] == []


def write_without_snapshot(node: BarnabasNode) -> tuple[Path, bytearray, int]:
    """A log whose producers have to be read from its batches: its folder, its bytes, the size of a batch."""
    with WireClient(node.bootstrap, 60) as client:
        create_topic(client, "t", 1)
    node.stop()
    batch = bytes(build_batch([Record(0, NOW_MS, None, b"value", ())]))
    data = numbered([batch], SMALL_BATCHES)
    folder = node.data / "t-0"
    end = write_log(folder, data)
    (folder / f"{end:020d}.snapshot").unlink()
    return folder, data, len(batch)


def test_a_log_without_a_snapshot_is_read_beside_the_loop(node: BarnabasNode) -> None:
    write_without_snapshot(node)
    node.start()
    start = held_file(node).stat().st_size
    with WireClient(node.bootstrap, 60) as client:
        assert fetch(client, 0, 12)["error_code"] == ErrorCode.NOT_LEADER_OR_FOLLOWER
        part = fetch_when_open(client, 0, 12)
        assert part["error_code"] == 0 and part["high_watermark"] == SMALL_BATCHES
    assert held_since(node, start) == []


def test_a_damaged_log_is_read_beside_the_loop_and_not_at_every_request(node: BarnabasNode) -> None:
    """Without a snapshot of its producers all of it is read at the opening, which fails at its end."""
    folder, data, batch_size = write_without_snapshot(node)
    with (folder / f"{0:020d}.log").open("r+b") as segment:
        segment.seek(len(data) - 100 * batch_size - 3)
        segment.write(b"?")
    node.start()
    start = held_file(node).stat().st_size
    with WireClient(node.bootstrap, 60) as client:
        fetch_when_open(client, 0, 12)
        codes = {fetch(client, 0, 12)["error_code"] for _ in range(5)}
    assert codes == {ErrorCode.KAFKA_STORAGE_ERROR}
    assert held_since(node, start) == []

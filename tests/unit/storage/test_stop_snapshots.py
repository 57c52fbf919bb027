"""The producers of many logs in one file of a clean stop: used for a log that ends there, and for no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.model.producers import ProducerEntry
from barnabas.storage import flushing, stop_snapshots
from barnabas.storage.config import LogConfig
from barnabas.storage.log import Log
from barnabas.storage.snapshots import encode
from barnabas.storage.stop_snapshots import AtStop
from tests.unit.storage.stories import SMALL, fill

BIG = LogConfig()
EPOCH = 7
PRODUCER = ProducerEntry(4000, 1, 17, 9, 0, 1_700_000_000_000, -1, -1)
LOGS: dict[str, AtStop] = {"t-0": (18, encode([PRODUCER])), "with-dashes-in-it-12": (1, encode([])), "é-1": (2, b"")}


def snapshots_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.snapshot"))


def closed_together(folder: Path, records: int = 5, *, config: LogConfig = BIG, cut_at: int = 0) -> AtStop | None:
    log = Log.open(folder, config, clean=True)
    log.snapshot_source = lambda: [PRODUCER]
    fill(log, records)
    if cut_at:
        log.advance_log_start(cut_at)
    return log.close_together()


def test_what_was_written_is_read_again() -> None:
    data = stop_snapshots.encode(EPOCH, LOGS)
    assert stop_snapshots.decode(data, EPOCH) == LOGS
    assert stop_snapshots.decode(stop_snapshots.encode(EPOCH, {}), EPOCH) == {}


def test_the_file_of_another_stop_says_nothing() -> None:
    assert stop_snapshots.decode(stop_snapshots.encode(EPOCH, LOGS), EPOCH + 1) == {}


def test_no_part_of_a_damaged_file_is_used() -> None:
    data = stop_snapshots.encode(EPOCH, LOGS)
    for at in range(len(data)):
        assert stop_snapshots.decode(data[:at], EPOCH) == {}
        assert stop_snapshots.decode(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], EPOCH) == {}


def test_a_log_that_was_closed_with_others_needs_no_snapshot_of_its_own(tmp_path: Path) -> None:
    at_stop = closed_together(tmp_path)
    assert at_stop is not None
    assert snapshots_in(tmp_path) == []
    log = Log.open(tmp_path, BIG, clean=True, at_stop=at_stop)
    assert log.load_producers() == (log.log_end_offset, [PRODUCER])
    assert log.snapshots.peek() == (log.log_end_offset, [PRODUCER])
    assert log.snapshots.newest_offset == log.log_end_offset
    assert [*log.headers_from(log.snapshots.newest_offset)] == []


def test_it_counts_only_for_a_clean_stop_at_that_offset(tmp_path: Path) -> None:
    at_stop = closed_together(tmp_path)
    assert at_stop is not None
    end, snapshot = at_stop
    for clean, offset in ((False, end), (True, end - 1), (True, end + 1)):
        log = Log.open(tmp_path, BIG, clean=clean, at_stop=(offset, snapshot))
        assert log.load_producers() == (0, [])
        log.close()


def test_a_log_that_is_cut_forgets_it(tmp_path: Path) -> None:
    at_stop = closed_together(tmp_path)
    assert at_stop is not None
    log = Log.open(tmp_path, BIG, clean=True, at_stop=at_stop)
    log.truncate_to(1)
    assert log.load_producers() == (0, [])


def test_a_newer_snapshot_takes_its_place(tmp_path: Path) -> None:
    at_stop = closed_together(tmp_path)
    log = Log.open(tmp_path, BIG, clean=True, at_stop=at_stop)
    log.snapshot_source = list
    fill(log, 3)
    log.take_snapshot()
    assert log.load_producers() == (log.log_end_offset, [])
    assert snapshots_in(tmp_path) == [f"{log.log_end_offset:020d}.snapshot"]


def test_a_damaged_entry_is_passed_over(tmp_path: Path) -> None:
    at_stop = closed_together(tmp_path)
    assert at_stop is not None
    log = Log.open(tmp_path, BIG, clean=True, at_stop=(at_stop[0], at_stop[1][:-1]))
    assert log.load_producers() == (0, [])


def test_much_that_was_written_gets_a_snapshot_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flushing, "LITTLE_BYTES", 100)
    assert closed_together(tmp_path, records=20) is None
    assert len(snapshots_in(tmp_path)) == 1


def test_a_log_whose_records_were_deleted_gets_a_snapshot_of_its_own(tmp_path: Path) -> None:
    """After a crash in the next life nobody could read again who wrote them."""
    assert closed_together(tmp_path, records=20, cut_at=10) is None
    assert len(snapshots_in(tmp_path)) == 1


def test_a_log_with_a_snapshot_at_its_end_needs_nothing(tmp_path: Path) -> None:
    log = Log.open(tmp_path, SMALL, clean=True)
    log.snapshot_source = lambda: [PRODUCER]
    fill(log, 5)
    log.take_snapshot()
    before = snapshots_in(tmp_path)
    assert log.close_together() is None
    assert snapshots_in(tmp_path) == before

"""By time: the first record, to the record, that is not older; in every codec."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.storage.config import LogConfig
from barnabas.storage.disk import Disk
from barnabas.storage.log import Log
from barnabas.wire.compression import Codec
from barnabas.wire.records import Record, build_batch
from tests.unit.storage.stories import SMALL, batch_at, read_records, write


def expected(log: Log, timestamp: int) -> tuple[int, int] | None:
    return next(((r.timestamp, r.offset) for r in read_records(log) if r.timestamp >= timestamp), None)


@pytest.mark.parametrize("codec", list(Codec))
def test_the_record_is_found_inside_its_batch(tmp_path: Path, codec: Codec) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    for number in range(12):
        write(log, batch_at(number * 10, 10, timestamp=1_000 + number * 100, epoch=number // 6, codec=codec))
    assert log.offset_for_timestamp(0) == (1_000, 0, 0)
    assert log.offset_for_timestamp(1_405) == (1_405, 45, 0)
    assert log.offset_for_timestamp(1_410) == (1_500, 50, 0)
    assert log.offset_for_timestamp(2_109) == (2_109, 119, 1)
    assert log.offset_for_timestamp(2_110) is None
    assert log.max_timestamp_offset() == (2_109, 119, 1)


def test_records_below_the_start_of_the_log_are_not_found(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    write(log, batch_at(0, 10, timestamp=1_000))
    log.advance_log_start(4)
    assert log.offset_for_timestamp(1_000) == (1_004, 4, 0)


def test_an_empty_log_has_no_times(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    assert log.offset_for_timestamp(0) is None
    assert log.max_timestamp_offset() is None
    write(log, batch_at(0, timestamp=-1))
    assert log.max_timestamp_offset() is None


def test_log_append_time_stands_for_every_record_of_the_batch(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    write(log, build_batch([Record(i, 5, None, b"") for i in range(4)], log_append_time_ms=7_000))
    assert log.offset_for_timestamp(6) == (7_000, 0, 0)
    assert log.max_timestamp_offset() == (7_000, 0, 0)


def test_a_time_index_that_lies_is_found_out_and_built_again(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    for offset in range(40):
        write(log, batch_at(offset, timestamp=1_000 + offset))
    log.close()
    path = sorted(log.directory.glob("*.timeindex"))[0]
    good = path.read_bytes()
    path.write_bytes(good + (9_999).to_bytes(8) + good[-4:])
    log = Log.open(log.directory, SMALL, clean=True)
    assert log.offset_for_timestamp(1_039) == (1_039, 39, 0)
    assert path.read_bytes() == good
    assert log.max_timestamp_offset() == (1_039, 39, 0)


@settings(max_examples=30, deadline=None)
@given(
    times=st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=4), min_size=1, max_size=25),
    reopen=st.booleans(),
)
def test_times_in_any_order_are_found_as_a_plain_search_finds_them(
    tmp_path_factory: pytest.TempPathFactory, times: list[list[int]], reopen: bool
) -> None:
    log = Log.open(
        tmp_path_factory.mktemp("times") / "t-0", LogConfig(segment_bytes=700, index_interval_bytes=100), clean=False
    )
    for batch in times:
        start = log.log_end_offset
        write(log, build_batch([Record(start + i, time, None, b"v" * 20) for i, time in enumerate(batch)]))
    if reopen:
        log.close()
        log = Log.open(log.directory, log.config, clean=True)
    for timestamp in range(62):
        found = log.offset_for_timestamp(timestamp)
        assert (found[:2] if found else None) == expected(log, timestamp)
    newest = max(record.timestamp for record in read_records(log))
    found = log.max_timestamp_offset()
    assert found is not None
    assert found[:2] == expected(log, newest)
    log.delete()


class CountingDisk(Disk):
    read_bytes = 0

    def pread(self, fd: int, size: int, position: int) -> bytes:
        self.read_bytes += size
        return super().pread(fd, size, position)


@pytest.mark.parametrize("reopen", [False, True])
def test_a_time_is_found_without_reading_the_segment(tmp_path: Path, reopen: bool) -> None:
    """2,000 batches of one time and one that is newer in their middle: a scan reads half of the segment."""
    disk = CountingDisk()
    config = LogConfig(index_interval_bytes=4_096)
    log = Log.open(tmp_path / "t-0", config, clean=False, disk=disk)
    for offset in range(4_000):
        write(log, batch_at(offset, timestamp=9_000 if offset == 2_000 else 5_000, value=b"v" * 500))
    if reopen:
        log.close()
        log = Log.open(log.directory, config, clean=True, disk=disk)
    assert log.size_bytes > 2_000_000
    disk.read_bytes = 0
    assert log.max_timestamp_offset() == (9_000, 2_000, 0)
    assert log.offset_for_timestamp(5_001) == (9_000, 2_000, 0)
    assert log.offset_for_timestamp(5_000) == (5_000, 0, 0)
    # Each of the three scans once, in a piece of SCAN_BYTES; a scan from the start would take two pieces each.
    assert disk.read_bytes < 3_500_000

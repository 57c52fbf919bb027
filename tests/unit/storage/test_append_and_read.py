"""What is appended is read back, byte for byte, from any offset, in pieces of any size."""

import errno
from pathlib import Path

import pytest

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import RECENT_BATCHES_MAX
from barnabas.storage.config import LogConfig
from barnabas.storage.disk import Disk, StorageFatal
from barnabas.storage.indexes.offset_index import OffsetIndex
from barnabas.storage.log import Log
from tests.unit.storage.stories import (
    SMALL,
    FullDisk,
    batch_at,
    copy_of,
    fill,
    log_files,
    read_batches,
    read_records,
    write,
)


def new_log(tmp_path: Path, config: LogConfig = SMALL, **options: object) -> Log:
    return Log.open(tmp_path / "t-0", config, clean=False, **options)  # type: ignore[arg-type]


def test_every_batch_comes_back_from_every_offset_over_all_segments(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    written = fill(log, 60, count=3)
    assert len(log.segments) > 4
    assert read_batches(log) == written
    for offset in range(log.log_end_offset):
        assert read_batches(log, offset, max_bytes=10_000)[0] == written[offset // 3]


def test_an_empty_log_has_no_files_until_its_first_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    assert list(log.directory.iterdir()) == []
    assert log.read(0, 100, 0).empty
    fill(log, 1)
    assert [path.name for path in log.directory.iterdir()] == ["00000000000000000000.log"]


def test_a_read_starts_with_the_batch_that_holds_the_offset(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    first, second = fill(log, 2, count=5)
    assert log.read(7, 10_000, 10).read() == second
    assert log.read(4, 10_000, 10).read() == first + second


def test_a_read_may_cut_a_batch_but_never_the_first_one(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    first, second = fill(log, 2)
    assert log.read(0, len(first) + 10, 4).length == len(first) + 10
    assert log.read(0, 10, 4).read() == first
    assert log.read(0, 10, 4, min_one_batch=False).length == 0
    assert log.read(2, len(second), 4, min_one_batch=False).read() == second


def test_nothing_at_or_above_the_upper_offset_is_read(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    written = fill(log, 40)
    for upper in range(2, log.log_end_offset + 1, 2):
        assert read_batches(log, upper=upper) == written[: upper // 2]
        assert log.read(upper, 1_000, upper).empty


@pytest.mark.parametrize("offset", [-1, 3, 21])
def test_an_offset_outside_the_log_is_refused(tmp_path: Path, offset: int) -> None:
    log = new_log(tmp_path)
    fill(log, 10)
    log.advance_log_start(4)
    with pytest.raises(KafkaError) as refused:
        log.read(offset, 100, 20)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_reads_older_than_the_memory_of_recent_batches_go_through_the_index(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(index_interval_bytes=1_000))
    written = fill(log, RECENT_BATCHES_MAX * 2 + 3, count=1, value=b"")
    assert len(log.segments) == 1
    assert len(log.recent_lasts) <= RECENT_BATCHES_MAX
    for offset in (0, 1, RECENT_BATCHES_MAX, log.log_end_offset - len(log.recent_lasts), log.log_end_offset - 1):
        for delta in (-1, 0, 1):
            if 0 <= offset + delta < log.log_end_offset:
                assert read_batches(log, offset + delta, max_bytes=100_000) == written[offset + delta :]


def test_gaps_between_batches_are_read_over(tmp_path: Path) -> None:
    """A follower of a compacted log gets batches with gaps between them."""
    log = new_log(tmp_path)
    batches = [batch_at(offset, 2) for offset in (0, 10, 30)]
    for batch in batches:
        write(log, batch)
    assert log.read(2, 1_000, 32).read() == bytes(batches[1] + batches[2])
    assert log.read(12, 1_000, 30).empty
    log.close()
    log = Log.open(tmp_path / "t-0", SMALL, clean=True)
    assert read_batches(log, 12) == [bytes(batches[2])]


# --- rolling --------------------------------------------------------------------------------------------------------


def test_a_segment_never_grows_past_segment_bytes(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    fill(log, 60)
    assert len(log.segments) > 2
    assert all(path.stat().st_size <= SMALL.segment_bytes for path in log_files(log.directory))


def test_a_batch_larger_than_a_segment_has_one_to_itself(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    written = [bytes(batch_at(0)), bytes(batch_at(1, value=b"x" * 5_000)), bytes(batch_at(2))]
    for batch in written:
        write(log, batch)
    assert log.bases == [0, 1, 2]
    assert read_batches(log) == written


def test_a_segment_rolls_when_its_first_record_is_segment_ms_old(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(segment_ms=100))
    for offset, timestamp in enumerate((1_000, 1_100, 1_101, 1_050)):
        write(log, batch_at(offset, timestamp=timestamp))
    assert log.bases == [0, 2]


def test_a_segment_rolls_when_its_index_is_full(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(index_interval_bytes=50, segment_index_bytes=5 * 8))
    fill(log, 20)
    assert len(log.segments) > 2
    assert all(len(segment.offset_index) <= 5 for segment in log.segments)


@pytest.mark.parametrize("first", [[], [0]])
def test_a_segment_rolls_when_the_index_cannot_express_an_offset(tmp_path: Path, first: list[int]) -> None:
    log = new_log(tmp_path)
    for offset in [*first, 2**31 + 5]:
        write(log, batch_at(offset))
    assert log.bases == [*first, 2**31 + 5]
    log.close()
    assert Log.open(tmp_path / "t-0", SMALL, clean=True).log_end_offset == 2**31 + 6


def test_a_new_config_takes_effect_with_the_next_append(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig())
    fill(log, 2)
    log.config = LogConfig(segment_bytes=100)
    fill(log, 2)
    assert log.bases == [0, 4, 6]


# --- refusals -------------------------------------------------------------------------------------------------------


def test_offsets_must_rise(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    fill(log, 2)
    with pytest.raises(ValueError, match="offset 3 after 3"):
        write(log, batch_at(3))
    assert log.log_end_offset == 4


@pytest.mark.parametrize("room", [0, 1, 60, 120])
def test_a_full_disk_loses_the_batch_and_nothing_else(tmp_path: Path, room: int) -> None:
    disk = FullDisk(10**6)
    log = new_log(tmp_path, disk=disk)
    written = fill(log, 5)
    size = log.size_bytes
    disk.room = room
    with pytest.raises(OSError) as full:
        fill(log, 1)
    assert full.value.errno == errno.ENOSPC
    assert (log.size_bytes, log.log_end_offset) == (size, 10)
    assert log_files(log.directory)[-1].stat().st_size == size
    disk.room = 10**6
    written += fill(log, 5)
    assert read_batches(log) == written
    assert read_batches(Log.open(copy_of(log, tmp_path / "copy"), SMALL, clean=False)) == written


def test_a_full_disk_at_a_roll_leaves_the_segment_as_it_was(tmp_path: Path) -> None:
    disk = FullDisk(10**6)
    log = new_log(tmp_path, disk=disk)
    written = fill(log, 8)
    while log.active_segment.size + 200 < SMALL.segment_bytes:
        written += fill(log, 1)
    disk.room = 0
    for _ in range(3):
        with pytest.raises(OSError):
            write(log, batch_at(log.log_end_offset, 4))
    disk.room = 10**6
    written += fill(log, 30)
    assert read_batches(log) == written


def test_a_write_error_that_is_not_a_full_disk_ends_the_log(tmp_path: Path) -> None:
    disk = FullDisk(10**6, errno.EIO)
    log = new_log(tmp_path, disk=disk)
    written = fill(log, 3)
    disk.room = 0
    with pytest.raises(StorageFatal):
        fill(log, 1)
    disk.room = 10**6
    with pytest.raises(StorageFatal, match="write failed"):
        fill(log, 1)
    assert read_batches(log) == written


def test_a_closed_log_refuses_appends(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    fill(log, 1)
    log.close()
    with pytest.raises(KafkaError) as refused:
        fill(log, 1)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR


# --- flush ----------------------------------------------------------------------------------------------------------


class CountingDisk(Disk):
    def __init__(self) -> None:
        self.synced: list[str] = []

    def sync(self, fd: int, path: str) -> None:
        super().sync(fd, path)
        self.synced.append(Path(path).name)

    def sync_directory(self, path: str) -> None:
        super().sync_directory(path)
        self.synced.append("folder " + Path(path).name)


def test_a_flush_covers_every_segment_written_since_the_last_and_new_names(tmp_path: Path) -> None:
    disk = CountingDisk()
    log = new_log(tmp_path, disk=disk)
    fill(log, 30)
    assert log.unflushed_records == 60
    log.recovery_point = log.flush()
    assert log.unflushed_records == 0
    assert {path.name for path in log_files(log.directory)} < set(disk.synced)
    assert f"folder {tmp_path.name}" in disk.synced
    assert "leader-epoch-checkpoint.tmp" in disk.synced

    disk.synced.clear()
    fill(log, 1)
    assert log.flush() == 62
    assert disk.synced == [log_files(log.directory)[-1].name]


def test_a_failed_fsync_is_fatal(tmp_path: Path) -> None:
    class Failing(Disk):
        def sync(self, fd: int, path: str) -> None:
            raise StorageFatal(path, "fsync failed: Input/output error")

    log = new_log(tmp_path, disk=Failing())
    fill(log, 1)
    with pytest.raises(StorageFatal):
        log.flush()
    with pytest.raises(StorageFatal):
        fill(log, 1)


def test_records_read_are_the_records_written(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    fill(log, 10, count=3)
    records = read_records(log)
    assert [record.offset for record in records] == list(range(30))
    assert records[7].key == b"key-2"


def test_an_index_grows_on_after_a_write_that_failed(tmp_path: Path) -> None:
    class Full(Disk):
        full = False

        def write_all(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> None:
            view = memoryview(data)
            if self.full:
                raise OSError(errno.ENOSPC, "full")
            super().write_all(fd, view, position)

    disk = Full()
    index = OffsetIndex(disk, str(tmp_path / "i"), 0)
    index.add(0, 0)
    disk.full = True
    with pytest.raises(OSError) as failure:
        index.write()
    disk.full = False
    index.add(1, 100)  # while the traceback, and the view in it, is still held
    index.write()
    assert failure and len(index.all()) == 2

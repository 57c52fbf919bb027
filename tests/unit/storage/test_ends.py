"""What leaves a log: retention, DeleteRecords, truncation, deletion; and that readers do not notice."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.config import LogConfig
from barnabas.storage.files import FilePool
from barnabas.storage.log import Log
from tests.unit.storage.stories import SMALL, batch_at, copy_of, descriptors, fill, log_files, read_batches, write


def aged_log(tmp_path: Path, **settings: object) -> Log:
    """Five segments of two batches; a batch each 100 ms from 1,000 on, two records each."""
    options: dict[str, object] = {"segment_bytes": 400, "file_delete_delay_ms": 500, "retention_ms": -1} | settings
    log = Log.open(tmp_path / "t-0", LogConfig(**options), clean=False)  # type: ignore[arg-type]
    fill(log, 10, count=2, step_ms=50)
    assert log.bases == [0, 4, 8, 12, 16]
    return log


def test_retention_by_time_removes_whole_segments_whose_newest_record_is_too_old(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_ms=1_000)
    newest_of_second = 1_000 + 6 * 50 + 1
    assert log.apply_retention(newest_of_second + 1_000, 20) == 1
    assert (log.log_start_offset, log.bases) == (4, [4, 8, 12, 16])
    assert log.apply_retention(newest_of_second + 1_001, 20) == 1
    assert log.log_start_offset == 8
    with pytest.raises(KafkaError):
        log.read(7, 100, 20)


@pytest.mark.parametrize("spoil", [lambda data: bytes(12), lambda data: data[:8] + bytes(4), lambda data: b""])
def test_a_spoilt_time_index_deletes_nothing(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    log = aged_log(tmp_path, retention_ms=1_000)
    before = log.bases[:]
    log.close()
    for path in sorted((tmp_path / "t-0").glob("*.timeindex"))[:-1]:
        path.write_bytes(spoil(path.read_bytes()))
    again = Log.open(tmp_path / "t-0", log.config, clean=True)
    assert again.apply_retention(2_090, 20) == 0 and again.bases == before  # the oldest segment ends at 1,101
    assert again.apply_retention(2_110, 20) == 1


def test_a_log_whose_last_record_has_expired_becomes_empty_and_goes_on(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_ms=1_000)
    assert log.apply_retention(10**9, 20) == 5
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (20, 20, 0)
    assert log.apply_retention(10**9, 20) == 0
    written = fill(log, 3)
    assert read_batches(log) == written
    log.close()
    assert Log.open(log.directory, log.config, clean=True).log_start_offset == 20


def test_retention_never_passes_the_high_watermark(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_ms=0)
    assert log.apply_retention(10**9, 11) == 2
    assert log.log_start_offset == 8


def test_retention_by_size_keeps_at_least_that_much(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_bytes=800)
    log.apply_retention(0, 20)
    assert log.bases == [8, 12, 16]
    assert log.size_bytes >= 800


@pytest.mark.parametrize("settings", [{}, {"retention_ms": 0, "cleanup_policy": frozenset({"compact"})}])
def test_for_ever_is_for_ever(tmp_path: Path, settings: dict[str, object]) -> None:
    log = aged_log(tmp_path, **settings)
    assert log.apply_retention(10**15, 20) == 0


def test_records_without_a_time_are_as_old_as_their_file(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", LogConfig(retention_ms=1_000), clean=False)
    write(log, batch_at(0, timestamp=-1))
    log.roll()
    os.utime(log_files(log.directory)[0], (100, 100))
    assert log.apply_retention(101_000, 1) == 0
    assert log.apply_retention(101_001, 1) == 1


def test_removed_segments_are_renamed_at_once_and_unlinked_later(tmp_path: Path) -> None:
    log = aged_log(tmp_path)
    log.advance_log_start(9)
    assert (log.log_start_offset, log.bases) == (9, [8, 12, 16])
    deleted = sorted(path.name for path in log.directory.glob("*.deleted"))
    assert "00000000000000000000.log.deleted" in deleted
    assert len(deleted) == 6
    assert log.purge(1_000) == 0
    assert log.purge(1_499) == 0
    assert log.purge(1_500) == 2
    assert list(log.directory.glob("*.deleted")) == []


def test_delete_records_survives_a_restart_with_its_checkpoint(tmp_path: Path) -> None:
    log = aged_log(tmp_path)
    log.advance_log_start(9)
    folder = copy_of(log, tmp_path / "copy")
    log = Log.open(folder, log.config, clean=False, log_start_offset=9)
    assert (log.log_start_offset, log.bases) == (9, [8, 12, 16])
    assert list(folder.glob("*.deleted")) == []
    with pytest.raises(KafkaError) as refused:
        log.advance_log_start(21)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    log.advance_log_start(20)
    assert log.read(20, 100, 20).empty


def test_a_start_offset_never_goes_back(tmp_path: Path) -> None:
    log = aged_log(tmp_path)
    log.advance_log_start(9)
    log.advance_log_start(3)
    assert log.log_start_offset == 9


# --- truncation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", range(1, 21))
def test_truncation_leaves_exactly_the_batches_below(tmp_path: Path, offset: int) -> None:
    log = aged_log(tmp_path)
    written = read_batches(log)
    log.recovery_point = log.flush()
    log.truncate_to(offset)
    kept = offset // 2
    assert read_batches(log) == written[:kept]
    assert log.log_end_offset == kept * 2
    assert log.recovery_point <= log.log_end_offset
    written = written[:kept] + fill(log, 6)
    assert read_batches(log) == written
    reopened = Log.open(copy_of(log, tmp_path / "copy"), log.config, clean=False, recovery_point=log.recovery_point)
    assert read_batches(reopened) == written
    log.close()
    assert read_batches(Log.open(log.directory, log.config, clean=True)) == written


def test_truncation_forgets_times_epochs_and_snapshots_of_what_went(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    log.snapshot_source = list
    for offset in range(30):
        write(log, batch_at(offset, timestamp=1_000 + offset, epoch=offset // 10))
    log.take_snapshot()
    log.truncate_to(15)
    assert log.max_timestamp_offset() == (1_014, 14, 1)
    assert log.offset_for_timestamp(1_015) is None
    assert log.epochs.entries == [(0, 0), (1, 10)]
    assert log.load_producers()[0] <= 15


def test_a_log_can_start_anew_at_another_offset(tmp_path: Path) -> None:
    log = aged_log(tmp_path)
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (100, 100, 0)
    assert log.epochs.entries == []
    written = fill(log, 3)
    assert read_batches(log) == written
    log.close()
    assert read_batches(Log.open(log.directory, log.config, clean=True)) == written


# --- readers and descriptors ----------------------------------------------------------------------------------------


def test_a_slice_outlives_its_segment_and_its_log(tmp_path: Path) -> None:
    log = aged_log(tmp_path)
    written = read_batches(log)
    old, new = log.read(0, 1_000, 20), log.read(18, 1_000, 20)
    log.advance_log_start(20)
    log.purge(0)
    log.purge(10**9)
    log.delete()
    assert not log.directory.exists()
    assert old.read() == b"".join(written[:2])
    assert new.read() == written[9]


def test_descriptors_return_to_where_they_were(tmp_path: Path) -> None:
    before = descriptors(tmp_path)
    log = aged_log(tmp_path)
    slices = [log.read(offset, 100, 20) for offset in range(20)]
    assert descriptors(tmp_path) > before
    log.close()
    assert descriptors(tmp_path) > before  # the slices still hold theirs
    del slices
    assert descriptors(tmp_path) == before


def test_the_pool_keeps_to_its_ceiling_and_every_log_goes_on(tmp_path: Path) -> None:
    files = FilePool(maximum=3)
    before = descriptors(tmp_path)
    logs = [Log.open(tmp_path / f"t-{number}", SMALL, clean=False, files=files) for number in range(10)]
    written: list[list[bytes]] = [[] for _ in logs]
    for _ in range(30):
        for number, log in enumerate(logs):
            written[number] += fill(log, 1)
        assert descriptors(tmp_path) <= before + 3
    for log, batches in zip(logs, written, strict=True):
        assert read_batches(log) == batches
        log.flush()
        log.close()
    assert descriptors(tmp_path) == before
    assert len(files) == 0

"""Compaction keeps the newest record of each key, every offset, every sequence; tombstones wait for slow readers."""

import pickle
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from barnabas.model.producers import ProducerEntry
from barnabas.storage.compaction import cleaner
from barnabas.storage.compaction.cleaner import CleaningPlan, CleaningResult
from barnabas.storage.config import LogConfig
from barnabas.storage.damage import Damaged
from barnabas.storage.log import Log
from barnabas.wire.batch import iter_batches
from barnabas.wire.compression import Codec
from barnabas.wire.records import Record, build_batch, iter_records
from tests.unit.storage.stories import (
    CrashError,
    MortalDisk,
    copy_of,
    log_files,
    read_batches,
    read_records,
    write,
    write_records,
)

CONFIG = LogConfig(
    segment_bytes=600,
    index_interval_bytes=100,
    cleanup_policy=frozenset({"compact"}),
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=1_000,
    file_delete_delay_ms=0,
)
NOW = 100_000


def compacted_log(tmp_path: Path, config: LogConfig = CONFIG, **options: object) -> Log:
    return Log.open(tmp_path / "t-0", config, clean=False, **options)  # type: ignore[arg-type]


def clean(log: Log, now_ms: int = NOW, **options: int) -> CleaningResult:
    plan = cleaner.plan(log, now_ms, **options)
    assert plan is not None
    result = plan.run()
    assert log.swap(result) == len(result.segments)
    return result


def contents(log: Log) -> dict[bytes | None, tuple[int, bytes | None]]:
    return {record.key: (record.offset, record.value) for record in read_records(log)}


def fill_keys(log: Log, count: int, keys: int = 7, codec: Codec = Codec.NONE) -> None:
    for _ in range(count):
        start = log.log_end_offset
        records = [
            Record(start + i, 1_000 + start, b"k%d" % ((start + i) % keys), b"v%d" % (start + i)) for i in range(3)
        ]
        write(log, build_batch(records, codec=codec))


@pytest.mark.parametrize("codec", list(Codec))
def test_the_newest_record_of_each_key_stays_with_its_offset_and_codec(tmp_path: Path, codec: Codec) -> None:
    log = compacted_log(tmp_path)
    fill_keys(log, 40, codec=codec)
    log.roll()
    before = contents(log)
    result = clean(log)
    assert contents(log) == before
    assert [record.offset for record in read_records(log)] == list(range(113, 120))
    assert (result.records_before, result.records_after) == (120, 7)
    assert {header.codec for header in log.headers_from(0) if header.record_count} == {codec}
    assert log.first_dirty_offset == 120
    assert log.verify(deep=True) == []


def test_the_active_segment_and_records_that_are_not_stable_are_not_touched(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    fill_keys(log, 40)
    active = log.bases[-1]
    clean(log)
    assert [record.offset for record in read_records(log) if record.offset >= active] == list(range(active, 120))
    log.first_dirty_offset = 0
    plan = cleaner.plan(log, NOW, last_stable_offset=0)
    assert plan is None


def test_every_read_over_a_cleaned_log_gives_the_next_record_there_is(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    fill_keys(log, 40)
    clean(log)
    offsets = [record.offset for record in read_records(log)]
    for offset in range(log.log_end_offset):
        found = [r.offset for b in read_batches(log, offset) for r in iter_records(b) if r.offset >= offset]
        assert found == [kept for kept in offsets if kept >= offset]


def test_small_cleaned_segments_are_put_together(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    fill_keys(log, 60)
    many = len(log.segments)
    clean(log)
    log.first_dirty_offset = 0
    clean(log)
    assert len(log.segments) < many / 3
    assert all(path.stat().st_size <= CONFIG.segment_bytes for path in log_files(log.directory))


# --- tombstones -----------------------------------------------------------------------------------------------------


def test_a_tombstone_stays_for_delete_retention_ms_and_then_goes(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    write_records(log, [(b"a", b"1"), (b"b", b"1")])
    write_records(log, [(b"a", None), (b"c", b"1")])
    write_records(log, [(b"z", b"1")])
    log.roll()
    clean(log, NOW)
    assert contents(log) == {b"b": (1, b"1"), b"a": (2, None), b"c": (3, b"1"), b"z": (4, b"1")}
    horizons = [header.delete_horizon_ms for batch in read_batches(log) for _, header in iter_batches(batch)]
    assert horizons == [None, NOW + 1_000, None]
    assert [record.timestamp for record in read_records(log)] == [1_000] * 4

    log.first_dirty_offset = 0
    clean(log, NOW + 999)
    assert b"a" in contents(log)
    log.first_dirty_offset = 0
    clean(log, NOW + 1_000)
    assert contents(log) == {b"b": (1, b"1"), b"c": (3, b"1"), b"z": (4, b"1")}


def test_a_value_after_the_tombstone_is_the_newest(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    for value in (b"1", None, b"2"):
        write_records(log, [(b"a", value)])
    write_records(log, [(None, b"no key: nothing to keep it by")])
    write_records(log, [(b"z", b"")])
    log.roll()
    clean(log)
    assert contents(log) == {b"a": (2, b"2"), b"z": (4, b"")}


# --- producers and transactions -------------------------------------------------------------------------------------


def test_the_last_batch_of_a_producer_stays_though_it_is_empty(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    log.snapshot_source = lambda: [ProducerEntry(9, 1, 6, 3, 1, 1_000)]
    write_records(log, [(b"a", b"0"), (b"b", b"0")], producer_id=9, producer_epoch=1, base_sequence=3)
    write_records(log, [(b"a", b"1"), (b"b", b"1")], producer_id=9, producer_epoch=1, base_sequence=5)
    write_records(log, [(b"a", b"2"), (b"b", b"2")])
    log.roll()
    clean(log)
    headers = list(log.headers_from(0))
    assert [(header.base_offset, header.last_offset, header.record_count) for header in headers] == [
        (2, 3, 0),
        (4, 5, 2),
    ]
    assert (headers[0].producer_id, headers[0].producer_epoch, headers[0].last_sequence) == (9, 1, 6)
    log.snapshot_source = list
    log.first_dirty_offset = 0
    clean(log)
    assert [header.base_offset for header in log.headers_from(0)] == [4]


def test_the_last_batch_of_a_segment_stays_so_that_no_hole_is_seen_behind_it(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    write_records(log, [(b"a", b"0")])
    write_records(log, [(None, b"goes")])
    log.roll()
    clean(log)
    assert [(header.last_offset, header.record_count) for header in log.headers_from(0)] == [(0, 1), (1, 0)]


def marker(log: Log, producer_id: int, *, commit: bool) -> None:
    key = b"\x00\x00\x00\x01" if commit else b"\x00\x00\x00\x00"
    record = Record(log.log_end_offset, 1_000, key, b"\x00\x00\x00\x00\x00\x00")
    write(log, build_batch([record], producer_id=producer_id, producer_epoch=0, transactional=True, control=True))


def test_aborted_data_goes_and_never_hides_what_it_would_have_replaced(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    options = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    write_records(log, [(b"a", b"kept")])
    write_records(log, [(b"a", b"aborted"), (b"b", b"aborted")], **options)
    marker(log, 5, commit=False)
    write_records(log, [(b"b", b"committed")], **options)
    marker(log, 5, commit=True)
    write_records(log, [(b"z", b"")])
    log.roll()
    clean(log, NOW)
    kept = [(record.offset, record.value) for record in read_records(log) if record.key in (b"a", b"b")]
    assert kept == [(0, b"kept"), (4, b"committed")]
    # The commit marker stays with its data. The abort marker tells a reader of the index where the aborted data ends.
    log.first_dirty_offset = 0
    clean(log, NOW + 1_000)
    assert [header.base_offset for header in log.headers_from(0) if header.is_control] == [3, 5]


# --- when -----------------------------------------------------------------------------------------------------------


def test_a_log_is_cleaned_when_enough_of_it_is_dirty(tmp_path: Path) -> None:
    log = compacted_log(tmp_path, replace(CONFIG, min_cleanable_dirty_ratio=0.5))
    fill_keys(log, 40, keys=1_000)
    clean(log)
    fill_keys(log, 20, keys=1_000)
    assert cleaner.plan(log, NOW) is None
    fill_keys(log, 40, keys=1_000)
    plan = cleaner.plan(log, NOW)
    assert plan is not None
    assert 0.5 < plan.dirty_ratio < 1


def test_young_records_wait_for_min_compaction_lag(tmp_path: Path) -> None:
    log = compacted_log(tmp_path, replace(CONFIG, min_compaction_lag_ms=1_000))
    fill_keys(log, 40)
    youngest_first_segment = log.segments[0].largest_timestamp()
    assert cleaner.plan(log, youngest_first_segment + 999) is None
    plan = cleaner.plan(log, youngest_first_segment + 1_000)
    assert plan is not None
    assert plan.upper_offset == log.bases[1]


def test_a_record_never_waits_longer_than_max_compaction_lag(tmp_path: Path) -> None:
    log = compacted_log(tmp_path, replace(CONFIG, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=5_000))
    fill_keys(log, 40)
    assert cleaner.plan(log, 1_000 + 5_000) is None
    assert cleaner.plan(log, 1_000 + 5_001) is not None
    write(log, build_batch([Record(120, 10_000, b"a", b"")]))
    assert log.bases[-1] == 120  # and the segment is sealed in time


def test_a_topic_that_is_not_compacted_is_left_alone(tmp_path: Path) -> None:
    log = compacted_log(tmp_path, replace(CONFIG, cleanup_policy=frozenset({"delete"})))
    fill_keys(log, 40)
    assert cleaner.plan(log, NOW) is None


# --- how ------------------------------------------------------------------------------------------------------------


def test_more_keys_than_the_map_holds_take_more_rounds(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    fill_keys(log, 60, keys=50)
    log.roll()
    before = contents(log)
    rounds = 0
    while (plan := cleaner.plan(log, NOW)) is not None:
        result = replace(plan, map_entries_max=20).run()
        log.swap(result)
        rounds += 1
        assert log.first_dirty_offset == result.end_offset > plan.first_dirty_offset
        assert contents(log) == before
    assert rounds > 3
    assert len(read_records(log)) == 50


def test_a_plan_can_be_run_in_another_process(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    fill_keys(log, 20)
    plan: CleaningPlan = pickle.loads(pickle.dumps(cleaner.plan(log, NOW)))  # noqa: S301
    result = pickle.loads(pickle.dumps(plan.run()))  # noqa: S301
    assert log.swap(result) == len(result.segments) > 0


def test_the_owner_can_slow_it_down_and_break_it_off(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    log = compacted_log(tmp_path)
    fill_keys(log, 40)
    before = read_batches(log)
    handled = 0

    def pause(done: int) -> None:
        nonlocal handled
        handled += done
        if handled > log.size_bytes:
            raise Stop

    plan = cleaner.plan(log, NOW)
    assert plan is not None
    with pytest.raises(Stop):
        plan.run(pause)
    assert read_batches(log) == before
    log.close()
    reopened = Log.open(log.directory, CONFIG, clean=True)
    assert list(log.directory.glob("*.cleaned")) == []
    assert read_batches(reopened) == before


def test_a_damaged_batch_stops_the_cleaning(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    fill_keys(log, 40)
    path = log_files(log.directory)[1]
    data = bytearray(path.read_bytes())
    data[80] ^= 1
    path.write_bytes(data)
    plan = cleaner.plan(log, NOW)
    assert plan is not None
    with pytest.raises(Damaged, match="CRC"):
        plan.run()


def test_retention_that_was_faster_voids_what_it_must(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    fill_keys(log, 40)
    plan = cleaner.plan(log, NOW)
    assert plan is not None
    result = plan.run()
    log.advance_log_start(log.bases[2])
    before = contents(log)
    log.swap(result)
    assert contents(log) == before
    assert list(log.directory.glob("*.cleaned")) == []


def test_readers_in_the_middle_of_an_old_segment_end_well(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    fill_keys(log, 40)
    piece = log.read(0, 300, 120)
    data = piece.read()
    clean(log)
    log.purge(0)
    assert piece.read() == data


@pytest.mark.parametrize("segment_bytes", [600, 100_000])
def test_a_crash_at_any_step_of_the_swap_leaves_one_log(tmp_path: Path, segment_bytes: int) -> None:
    """Small segments are exchanged one by one, then all of them for one; every one holds records that must stay."""
    log = compacted_log(tmp_path)
    fill_keys(log, 20, keys=45)
    log.config = replace(CONFIG, segment_bytes=segment_bytes)
    plan = cleaner.plan(log, NOW)
    assert plan is not None
    result = plan.run()
    assert [len(segment.sources) > 1 for segment in result.segments] in ([True], [False] * len(plan.sources))
    before, end_offset = contents(log), log.log_end_offset
    prepared = copy_of(log, tmp_path / "prepared")
    log.close()
    outcomes = set()
    for lives in range(80):
        folder = tmp_path / f"crash-{lives}"
        shutil.copytree(prepared, folder)
        crashed = crash_during_swap(folder, result, lives)
        reopened = Log.open(folder, CONFIG, clean=False)
        assert contents(reopened) == before
        assert reopened.log_end_offset == end_offset
        assert reopened.verify(deep=True) == []
        assert [path for path in folder.iterdir() if path.suffix in (".cleaned", ".swap", ".deleted")] == []
        outcomes.add(len(read_records(reopened)))
        if not crashed:
            break
    assert lives > 8
    assert len(outcomes) >= 2  # some crashes left the old log, some the new one


def crash_during_swap(folder: Path, result: CleaningResult, lives: int) -> bool:
    """A log over this folder, with the cleaned files in it, dies in its swap after so many steps."""
    cleaned = {path.name: path.read_bytes() for path in folder.glob("*.cleaned")}
    disk = MortalDisk()
    log = Log.open(folder, CONFIG, clean=False, disk=disk)
    for name, data in cleaned.items():
        (folder / name).write_bytes(data)
    disk.lives = lives
    try:
        log.swap(result)
    except CrashError:
        return True
    return False

"""After a kill or a power loss: all that was flushed is there, what follows is a prefix of what was written."""

from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from barnabas.model.producers import ProducerEntry
from barnabas.storage.config import LogConfig
from barnabas.storage.disk import ColdRead
from barnabas.storage.log import Log
from barnabas.wire.batch import BatchHeader, iter_batches
from tests.unit.storage.stories import SMALL, batch_at, copy_of, fill, log_files, read_batches, write


def crashed_log(tmp_path: Path, batches: int = 30) -> tuple[Path, list[bytes]]:
    """The folder of a log that was killed, and what was written to it."""
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    written = fill(log, batches)
    return copy_of(log, tmp_path / "copy"), written


def indexes_of(log: Log) -> list[tuple[list[tuple[int, ...]], list[tuple[int, ...]]]]:
    return [(segment.offset_index.all(), segment.time_index.all()) for segment in log.segments[:-1]]


def test_after_a_kill_everything_written_is_there(tmp_path: Path) -> None:
    folder, written = crashed_log(tmp_path)
    log = Log.open(folder, SMALL, clean=False)
    assert read_batches(log) == written
    assert log.report.cut is None
    assert log.report.scanned_bytes == log.size_bytes
    assert fill(log, 5) == read_batches(log)[-5:]


def test_a_torn_tail_is_cut_wherever_it_was_torn(tmp_path: Path) -> None:
    folder, written = crashed_log(tmp_path, batches=3)
    path = log_files(folder)[-1]
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        log = Log.open(folder, SMALL, clean=False)
        kept = size // len(written[0])
        assert read_batches(log) == written[:kept]
        assert path.stat().st_size == kept * len(written[0])
        assert (log.report.cut is None) == (size % len(written[0]) == 0)
        assert log.log_end_offset == kept * 2


@pytest.mark.parametrize("tail", [b"\x00" * 500, b"\xff" * 500, b"\x00" * 3, b"garbage" * 40])
def test_rubbish_after_the_last_batch_is_cut(tmp_path: Path, tail: bytes) -> None:
    folder, written = crashed_log(tmp_path)
    with log_files(folder)[-1].open("ab") as file:
        file.write(tail)
    log = Log.open(folder, SMALL, clean=False)
    assert read_batches(log) == written
    assert log.report.cut_bytes == len(tail)


def test_the_log_is_cut_at_the_first_bad_batch_and_later_segments_go(tmp_path: Path) -> None:
    folder, written = crashed_log(tmp_path)
    assert len(log_files(folder)) > 3
    victim = log_files(folder)[1]
    data = bytearray(victim.read_bytes())
    size = len(written[0])
    data[size * 2 + 100] ^= 1
    victim.write_bytes(data)
    log = Log.open(folder, SMALL, clean=False)
    good = log_files(folder)[0].stat().st_size // size + 2
    assert read_batches(log) == written[:good]
    assert log.report.cut is not None
    assert (log.report.cut.file, log.report.cut.position) == (str(victim), size * 2)
    assert "CRC" in log.report.cut.reason
    assert len(log_files(folder)) == 2
    written = written[:good] + fill(log, 10)
    assert read_batches(log) == written
    again = Log.open(copy_of(log, folder.parent / "again"), SMALL, clean=False)
    assert read_batches(again) == written


def test_only_what_follows_the_recovery_point_is_read(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=100_000, index_interval_bytes=500)
    log = Log.open(tmp_path / "t-0", config, clean=False)
    fill(log, 3_000)
    log.recovery_point = log.flush()
    after = fill(log, 3)
    log.active_segment.write_indexes()
    folder = copy_of(log, tmp_path / "copy")
    reopened = Log.open(folder, config, clean=False, recovery_point=log.recovery_point)
    assert reopened.log_end_offset == 6_006
    assert reopened.report.scanned_bytes < 500 + 5 * len(after[0])
    assert indexes_of(reopened) == indexes_of(log)


def test_damage_before_the_recovery_point_does_not_cut_what_was_flushed(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    fill(log, 30)
    log.recovery_point = log.flush()
    folder = copy_of(log, tmp_path / "copy")
    victim = log_files(folder)[0]
    data = bytearray(victim.read_bytes())
    data[100] ^= 1
    victim.write_bytes(data)
    reopened = Log.open(folder, SMALL, clean=False, recovery_point=log.recovery_point)
    assert reopened.log_end_offset == 60
    assert [damage.file for damage in reopened.verify()] == [str(victim)]


def test_a_clean_stop_needs_no_recovery(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    written = fill(log, 30)
    log.close()
    before = {path.name: path.read_bytes() for path in log.directory.iterdir()}
    log = Log.open(tmp_path / "t-0", SMALL, clean=True)
    assert log.report.quiet
    assert log.report.scanned_bytes == 0
    assert {path.name: path.read_bytes() for path in log.directory.iterdir()} == before
    assert read_batches(log) == written
    assert log.recovery_point == log.log_end_offset == 60
    assert fill(log, 3) == read_batches(log, 60)


def test_a_clean_stop_that_lied_is_recovered(tmp_path: Path) -> None:
    folder, written = crashed_log(tmp_path)
    path = log_files(folder)[-1]
    path.write_bytes(path.read_bytes()[:-3])
    log = Log.open(folder, SMALL, clean=True)
    assert read_batches(log) == written[:-1]
    assert log.report.cut is not None


@pytest.mark.parametrize("ending", ["index", "timeindex"])
@pytest.mark.parametrize("spoil", ["remove", "empty", "odd", "rubbish", "zeros"])
@pytest.mark.parametrize("clean", [True, False])
def test_an_index_that_does_not_fit_is_built_again(tmp_path: Path, ending: str, spoil: str, clean: bool) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    written = fill(log, 30)
    log.close()
    good = indexes_of(log)
    for path in sorted(log.directory.glob(f"*.{ending}")):
        data = path.read_bytes()
        match spoil:
            case "remove":
                path.unlink()
            case "empty":
                path.write_bytes(b"")
            case "odd":
                path.write_bytes(data[:-1])
            case "rubbish":
                path.write_bytes(b"\xa5" * len(data))
            case "zeros":
                path.write_bytes(data + bytes(len(data) * 100))
    log = Log.open(tmp_path / "t-0", SMALL, clean=clean, recovery_point=60)
    assert read_batches(log) == written
    assert [log.offset_for_timestamp(1_000 + offset * 10) for offset in range(0, 60, 2)] == [
        (1_000 + offset * 10, offset, 0) for offset in range(0, 60, 2)
    ]
    if not (spoil == "empty" and ending == "index"):  # an empty offset index is slow, not wrong
        assert indexes_of(log) == good


def test_an_index_that_points_to_wrong_batches_is_never_believed(tmp_path: Path) -> None:
    """Every entry is a batch boundary and every entry lies: the offset of one batch, the position of the next."""
    log = Log.open(tmp_path / "t-0", LogConfig(index_interval_bytes=200), clean=False)
    written = fill(log, 60)
    log.roll()
    log.close()
    path = sorted(log.directory.glob("*.index"))[0]
    good = path.read_bytes()
    entries = [good[at : at + 8] for at in range(0, len(good), 8)]
    shifted = [entry[:4] + later[4:] for entry, later in pairwise(entries)]
    path.write_bytes(b"".join([*shifted, entries[-1]]))
    log = Log.open(log.directory, LogConfig(index_interval_bytes=200), clean=True)
    for offset in range(0, 120, 7):
        assert read_batches(log, offset) == written[offset // 2 :]
    assert path.read_bytes() == good


def test_a_read_that_does_not_wait_leaves_a_long_search_to_a_thread(tmp_path: Path) -> None:
    """Where the index is spoilt or empty, the batch is found by walking, and the index built anew, in a thread."""
    config = LogConfig(index_interval_bytes=200)
    log = Log.open(tmp_path / "t-0", config, clean=False)
    written = fill(log, 3_000)
    log.roll()
    log.close()
    path = sorted(log.directory.glob("*.index"))[0]
    good = path.read_bytes()
    entries = [good[at : at + 8] for at in range(0, len(good), 8)]
    shifted = b"".join([*(entry[:4] + later[4:] for entry, later in pairwise(entries)), entries[-1]])
    for spoilt, offset in ((b"", 5_500), (shifted, 20)):
        path.write_bytes(spoilt)
        log = Log.open(log.directory, config, clean=True)
        with pytest.raises(ColdRead):
            log.read(offset, 1 << 20, log.log_end_offset, wait=False)
        assert path.read_bytes() == spoilt
        assert read_batches(log, offset) == written[offset // 2 :]
        log.close()


def expected_indexes(log: Log, number: int, interval: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Both indexes of a sealed segment by Kafka's rule, from the bytes of its log alone."""
    base = log.bases[number]
    offsets: list[tuple[int, int]] = []
    times: list[tuple[int, int]] = []
    newest, since = (-1, 0), 0
    for position, header in iter_batches(log_files(log.directory)[number].read_bytes()):
        if header.max_timestamp > newest[0]:
            newest = (header.max_timestamp, header.last_offset - base)
        if since > interval:
            offsets.append((header.last_offset - base, position))
            if not times or newest[0] > times[-1][0]:
                times.append(newest)
            since = 0
        since += header.size
    if not times or newest[0] > times[-1][0]:
        times.append(newest)
    return offsets, times


def test_indexes_are_those_that_kafka_writes(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    for offset in range(60):
        write(log, batch_at(offset, timestamp=1_000 + (offset * 7) % 23, value=b"v" * (offset % 90)))
    for number, found in enumerate(indexes_of(log)):
        assert found == expected_indexes(log, number, SMALL.index_interval_bytes)
    recovered = Log.open(copy_of(log, tmp_path / "copy"), SMALL, clean=False)
    assert indexes_of(recovered) == indexes_of(log)


def test_epochs_after_the_recovery_point_come_from_the_batches(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    for offset in range(10):
        write(log, batch_at(offset, epoch=offset // 4))
        if offset == 5:
            log.recovery_point = log.flush()
    reopened = Log.open(copy_of(log, tmp_path / "copy"), SMALL, clean=False, recovery_point=log.recovery_point)
    assert reopened.epochs.entries == [(0, 0), (1, 4), (2, 8)] == log.epochs.entries


def test_epochs_of_batches_that_were_cut_are_forgotten(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    for offset in range(3):
        write(log, batch_at(offset, epoch=offset))
    log.flush()
    folder = copy_of(log, tmp_path / "copy")
    path = log_files(folder)[-1]
    path.write_bytes(path.read_bytes()[:-1])
    assert Log.open(folder, SMALL, clean=False).epochs.entries == [(0, 0), (1, 1)]


def test_the_owner_sees_every_batch_that_recovery_reads(tmp_path: Path) -> None:
    folder, written = crashed_log(tmp_path)
    seen: list[BatchHeader] = []
    Log.open(folder, SMALL, clean=False, on_batch=seen.append)
    assert [header.base_offset for header in seen] == [number * 2 for number in range(len(written))]


def test_snapshots_that_are_ahead_of_the_log_are_not_used(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    producer = ProducerEntry(7, 0, 3, 3, 0, 1_000)
    log.snapshot_source = lambda: [producer._replace(last_offset=log.log_end_offset - 1)]
    fill(log, 2)
    log.take_snapshot()
    fill(log, 2)
    log.take_snapshot()
    folder = copy_of(log, tmp_path / "copy")
    path = log_files(folder)[-1]
    path.write_bytes(path.read_bytes()[:-1])
    assert Log.open(folder, SMALL, clean=False, recovery_point=4).load_producers() == (4, [producer])


def test_a_snapshot_above_the_recovery_point_is_not_trusted(tmp_path: Path) -> None:
    """After a power loss it may be there while what it counts on is not."""
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    log.snapshot_source = lambda: [ProducerEntry(7, 0, 3, log.log_end_offset - 1, 0, 1_000)]
    for _ in range(3):
        fill(log, 2)
        log.take_snapshot()
    folder = copy_of(log, tmp_path / "copy")
    assert Log.open(folder, SMALL, clean=False, recovery_point=9).load_producers()[0] == 8
    assert Log.open(folder, SMALL, clean=False, recovery_point=0).load_producers() == (0, [])


def test_the_snapshot_below_the_recovery_point_outlives_newer_ones(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    log.snapshot_source = lambda: [ProducerEntry(7, 0, 3, log.log_end_offset - 1, 0, 1_000)]
    fill(log, 2)
    log.take_snapshot()
    log.recovery_point = log.flush()
    for _ in range(5):
        fill(log, 2)
        log.take_snapshot()
    assert log.snapshots.offsets == [4, 20, 24]


def test_a_start_offset_past_everything_on_disk_empties_the_log(tmp_path: Path) -> None:
    folder, _ = crashed_log(tmp_path)
    log = Log.open(folder, SMALL, clean=False, log_start_offset=1_000)
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (1_000, 1_000, 0)
    assert [path.name for path in log_files(folder)] == ["00000000000000001000.log"]


def test_an_emptied_log_remembers_where_it_stands(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    fill(log, 5)
    log.truncate_fully_and_start_at(77)
    folder = copy_of(log, tmp_path / "copy")
    for clean in (False, True):
        assert Log.open(folder, SMALL, clean=clean).log_end_offset == 77


def test_a_hole_that_a_power_loss_left_is_not_taken_for_a_gap(tmp_path: Path) -> None:
    """An older file lost its tail at a batch boundary, younger files survived: what they hold comes after a hole."""
    folder, written = crashed_log(tmp_path)
    size = len(written[0])
    victim = log_files(folder)[1]
    first = log_files(folder)[0].stat().st_size // size
    victim.write_bytes(victim.read_bytes()[: 2 * size])
    log = Log.open(folder, SMALL, clean=False)
    assert read_batches(log) == written[: first + 2]
    assert log.report.cut is not None
    assert len(log.report.removed_segments) >= 1


@pytest.mark.parametrize("compacts", [True, False])
def test_an_empty_segment_in_the_middle_is_a_hole_unless_compaction_can_have_emptied_it(
    tmp_path: Path, compacts: bool
) -> None:
    folder, written = crashed_log(tmp_path)
    victim = log_files(folder)[1]
    missing = victim.stat().st_size // len(written[0])
    first = log_files(folder)[0].stat().st_size // len(written[0])
    victim.write_bytes(b"")
    config = replace(SMALL, cleanup_policy=frozenset({"compact"})) if compacts else SMALL
    log = Log.open(folder, config, clean=False)
    assert read_batches(log) == written[:first] + (written[first + missing :] if compacts else [])


def test_leftovers_of_a_crash_are_settled_as_kafka_does(tmp_path: Path) -> None:
    folder, written = crashed_log(tmp_path)
    bases = [int(path.name[:20]) for path in log_files(folder)]
    for name in (
        f"{0:020d}.index.deleted",
        f"{bases[1]:020d}.log.cleaned",
        f"{bases[2]:020d}.log.swap",  # of a set whose lowest is still `.cleaned`: the set never became true
        f"{999:020d}.index",  # its log is gone
        "leader-epoch-checkpoint.tmp",
    ):
        (folder / name).write_bytes(b"left over")
    log = Log.open(folder, SMALL, clean=False)
    assert read_batches(log) == written
    assert len(log.report.leftovers) == 5
    assert {path.suffix for path in folder.iterdir()} == {".log", ".index", ".timeindex"}


def test_the_sealed_segment_that_holds_the_recovery_point_is_flushed_again(tmp_path: Path) -> None:
    folder, _ = crashed_log(tmp_path)
    log = Log.open(folder, SMALL, clean=False, recovery_point=2)
    assert len(log.segments) > 2
    assert log.dirty == log.segments[:-1]
    second = log.segments[1].base_offset
    log = Log.open(folder, SMALL, clean=False, recovery_point=second)
    assert log.dirty == log.segments[1:-1]


def test_damage_before_the_recovery_point_and_no_index_do_not_stop_the_opening(tmp_path: Path) -> None:
    folder, written = crashed_log(tmp_path)
    log = Log.open(folder, SMALL, clean=False)
    end_offset = log.log_end_offset
    log.close()
    first = log_files(folder)[0]
    data = bytearray(first.read_bytes())
    data[len(written[0]) : len(written[0]) + 61] = bytes(61)
    first.write_bytes(data)
    first.with_suffix(".timeindex").unlink()
    log = Log.open(folder, SMALL, clean=False, recovery_point=end_offset)
    assert log.log_end_offset == end_offset
    assert any("damage" in line for line in log.report.rebuilt_indexes)
    assert log.read(0, len(written[0]), end_offset).read() == written[0]


def test_segments_that_recovery_puts_aside_go_after_the_delay(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=200, file_delete_delay_ms=60_000)
    log = Log.open(tmp_path / "t-0", config, clean=True)
    fill(log, 10)
    log.flush()
    second = Path(log.segments[1].path)
    log.close()
    data = bytearray(second.read_bytes())
    data[-1] ^= 1
    second.write_bytes(data)
    log = Log.open(tmp_path / "t-0", config, clean=False, recovery_point=0)
    aside = list((tmp_path / "t-0").glob("*.deleted"))
    assert aside
    assert log.purge(1_000_000) == 0  # the delay begins
    assert log.purge(1_059_999) == 0
    assert log.purge(1_060_000) > 0
    assert not list((tmp_path / "t-0").glob("*.deleted"))
    log.close()

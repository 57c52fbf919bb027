"""Transactions in one partition: what is stable, what was aborted, and the same after every kind of restart."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from barnabas.broker.partition.opened import OpenPartition
from barnabas.core.partition.producers import Marker, Producers
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.disk import Disk
from barnabas.storage.indexes.aborted import ENTRY
from barnabas.wire.batch import TRANSACTIONAL_BIT, BatchHeader
from tests.unit.partition.stage import COMPACTED, NOW, SMALL, Stage


@pytest.fixture(autouse=True, scope="module")
def _no_platters() -> Iterator[None]:
    """These tests are about order and content: fsync does nothing here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fdatasync", lambda fd: None)
        patch.setattr(os, "fsync", lambda fd: None)
        yield


def data(producer: int, sequence: int, *, epoch: int = 0, records: int = 1) -> BatchHeader:
    return BatchHeader(0, 100, 0, 2, 0, TRANSACTIONAL_BIT, 0, NOW, NOW, producer, epoch, sequence, records)


def refusal(producers: Producers, marker: Marker) -> ErrorCode | None:
    try:
        producers.check_marker(marker)
    except KafkaError as error:
        return error.code
    return None


# --- the machine


def test_the_oldest_open_transaction_bounds_the_stable_part() -> None:
    producers = Producers()
    producers.appended(data(1, 0), 10, NOW)
    producers.appended(data(2, 0), 11, NOW)
    producers.appended(data(1, 1), 12, NOW)
    assert producers.first_unstable(13) == 10
    assert producers.marker_appended(Marker(1, 0, 0, True), 13, NOW, NOW) == 10
    assert producers.first_unstable(14) == 11
    assert producers.marker_appended(Marker(2, 0, 0, False), 14, NOW, NOW) == 11
    assert producers.first_unstable(15) is None


def test_a_marker_that_is_not_safe_yet_sets_nothing_free() -> None:
    producers = Producers()
    producers.appended(data(1, 0), 10, NOW)
    producers.marker_appended(Marker(1, 0, 0, True), 11, NOW, NOW)
    assert producers.first_unstable(11) == 10, "the marker is still above the high watermark"
    assert producers.first_unstable(12) is None


def test_who_may_end_a_transaction() -> None:
    producers = Producers()
    assert refusal(producers, Marker(1, 0, 0, True)) is None
    producers.appended(data(1, 0, epoch=3), 10, NOW)
    assert refusal(producers, Marker(1, 2, 0, True)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refusal(producers, Marker(1, 3, 0, True)) is None
    assert refusal(producers, Marker(1, 3, 0, True, strictly_newer=True)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refusal(producers, Marker(1, 4, 0, True, strictly_newer=True)) is None
    producers.marker_appended(Marker(1, 4, 7, True, strictly_newer=True), 11, NOW, NOW)
    assert refusal(producers, Marker(1, 4, 7, True, strictly_newer=True)) is None, "written twice does no harm"
    assert refusal(producers, Marker(1, 4, 6, True)) is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_an_ending_that_raises_the_epoch_refuses_what_comes_late() -> None:
    producers = Producers()
    producers.appended(data(1, 0), 10, NOW)
    producers.marker_appended(Marker(1, 1, 0, True, strictly_newer=True), 11, NOW, NOW)
    with pytest.raises(KafkaError) as late:
        producers.check(data(1, 1), NOW)
    assert late.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert producers.check(data(1, 0, epoch=1), NOW) is None


def test_whoever_asks_a_coordinator_sees_that_the_transaction_has_ended_meanwhile() -> None:
    producers = Producers()
    for epoch_rises in (False, True):
        before = producers.endings(1, epoch_rises=epoch_rises)
        producers.marker_appended(Marker(2, 0, 0, True), 10, NOW, NOW)
        assert producers.endings(1, epoch_rises=epoch_rises) == before, "another's ending"
        producers.marker_appended(Marker(1, 0, 0, True), 11, NOW, NOW)
        assert producers.endings(1, epoch_rises=epoch_rises) != before


def test_the_marker_of_the_transaction_before_does_not_end_the_next() -> None:
    """Transaction version 2: its marker has the epoch of the next one, whose first batch may already be here."""
    producers = Producers()
    producers.appended(data(1, 0, epoch=4), 10, NOW)
    before = producers.endings(1, epoch_rises=True)
    producers.marker_appended(Marker(1, 5, 0, True, strictly_newer=True), 11, NOW, NOW)
    assert producers.endings(1, epoch_rises=True) == before
    assert not producers.has_newer_epoch(1, 5)
    producers.marker_appended(Marker(1, 6, 0, True, strictly_newer=True), 12, NOW, NOW)
    assert producers.has_newer_epoch(1, 5), "this one does"


def test_an_idle_producer_with_an_open_transaction_is_not_forgotten() -> None:
    producers = Producers()
    producers.appended(data(1, 0), 10, NOW)
    assert producers.forget_idle(NOW + 1) == 0
    producers.marker_appended(Marker(1, 0, 0, True), 11, NOW, NOW)
    assert producers.forget_idle(NOW + 1) == 1


def test_what_compaction_has_emptied_opens_nothing_when_it_is_replayed() -> None:
    producers = Producers()
    producers.replay(data(1, 0, records=0), NOW)
    assert producers.first_unstable(100) is None
    assert producers.check(data(1, 1), NOW) is None, "but its sequence is known"


# --- the partition


def test_a_reader_of_committed_records_sees_whole_transactions_or_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.write()
    stage.write(1, 2)
    stage.check()
    stage.write(2, 2)
    stage.write()
    stage.check()
    stage.end(1, False)
    stage.check()
    stage.write(1, 1)
    stage.end(2, True)
    stage.check()
    stage.end(1, True)
    stage.check()
    assert len(stage.seen()) == 5


def test_a_marker_counts_when_it_is_flushed(tmp_path: Path) -> None:
    """`flush.messages=1`: what a power loss could take back frees nothing."""
    stage = Stage(tmp_path, flush_messages=1)
    partition = stage.partition
    first = stage.write(1)
    partition.flushed(partition.log.flush())
    marker = stage.end(1, True)
    assert partition.high_watermark == marker
    assert partition.last_stable_offset == first
    partition.flushed(partition.log.flush())
    assert partition.last_stable_offset == marker + 1


class Watcher:
    """A parked fetch: notes the last stable offset at the moment it is told of an append."""

    def __init__(self) -> None:
        self.stable: list[int] = []

    def arrived(self, partition: OpenPartition, size: int) -> None:
        self.stable.append(partition.last_stable_offset)


def test_readers_are_told_when_it_is_known_whose_the_batch_is(tmp_path: Path) -> None:
    stage, watcher = Stage(tmp_path), Watcher()
    stage.partition.waiters.fetches.append(watcher)
    stage.write(1)
    stage.write(2)
    stage.end(1, True)
    stage.end(2, False)
    stage.partition.appends.append_records([(b"k", b"v")], NOW, (3, 0))
    assert watcher.stable == [0, 0, 1, 4, 4]


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_that_begins_a_segment(tmp_path: Path, commit: bool) -> None:
    """The segment is rolled because of the marker (its time is a week after the data's): the snapshot that goes with it
    must not speak of a transaction that has ended, and the index entry belongs to the marker's segment."""
    stage = Stage(tmp_path / "a")
    stage.write(1, 3, timestamp=NOW - 30 * 86_400_000)
    marker = stage.end(1, commit, timestamp=NOW)
    log = stage.partition.log
    assert log.active_segment.base_offset == marker, "the segment was not rolled"
    index = sorted(path.name for path in Path(log.folder).glob("*.txnindex"))
    assert index == ([] if commit else [f"{marker:020d}.txnindex"])
    stage.check()
    again = stage.killed(tmp_path / "b")
    assert again.state() == stage.state()
    again.check()
    stage.stopped().check()


class NoRoomFor(Disk):
    """Refuses, or cuts short, every write to files of one kind."""

    def __init__(self, suffix: str, taken: int) -> None:
        self.suffix, self.taken, self.full = suffix, taken, False

    def pwrite(self, fd: int, buffer: bytes, position: int) -> int:  # type: ignore[override]
        if self.full and Path(f"/proc/self/fd/{fd}").readlink().suffix == self.suffix:
            if not self.taken:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            count, self.taken = self.taken, 0
            return os.pwrite(fd, memoryview(buffer)[:count], position)
        return os.pwrite(fd, buffer, position)


@pytest.mark.parametrize("taken", [0, 10])
def test_no_marker_without_its_entry_in_the_index(tmp_path: Path, taken: int) -> None:
    """The disk takes the abort marker but not the index entry: then it is as if neither had come."""
    disk = NoRoomFor(".txnindex", taken)
    stage = Stage(tmp_path / "a", disk=disk)
    stage.write(2, 1)
    stage.end(2, False)
    stage.write(1, 2)
    before = stage.state()
    disk.full = True
    with pytest.raises(KafkaError) as refused:
        stage.partition.appends.append_marker(Marker(1, 0, 0, False), NOW)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert stage.state() == before
    stage.check()
    stage.killed(tmp_path / "b").check()
    disk.full = False
    stage.end(1, False)
    stage.check()
    again = stage.killed(tmp_path / "c")
    assert again.state() == stage.state()
    again.check()


def test_the_index_is_kafkas(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.write(7, 2)
    stage.write(8, 1)
    stage.end(7, False)
    stage.end(8, False)
    (file,) = Path(stage.partition.log.folder).glob("*.txnindex")
    rows = [ENTRY.unpack_from(file.read_bytes(), at) for at in range(0, file.stat().st_size, ENTRY.size)]
    assert rows == [(0, 7, 0, 3, 2), (0, 8, 2, 4, 5)]


def test_retention_stops_before_an_open_transaction(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    for _ in range(8):
        stage.write(timestamp=1_000, count=3)
    first = stage.write(1, timestamp=1_000)
    for _ in range(8):
        stage.write(timestamp=1_000, count=3)
    partition = stage.partition
    partition.log.config = partition.log.config.__class__(segment_bytes=400, retention_ms=1, file_delete_delay_ms=0)
    assert partition.log.apply_retention(NOW, partition.last_stable_offset) > 0
    assert partition.log.log_start_offset <= first
    stage.end(1, False)
    assert partition.log.apply_retention(NOW, partition.last_stable_offset) > 0
    assert partition.log.log_start_offset > first
    partition.aborted.forget_before(partition.log.log_start_offset)


def test_what_ended_before_the_start_of_the_log_is_forgotten(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    for number in range(6):
        stage.write(1, 3)
        stage.end(1, number % 2 == 0)
        stage.write(count=5)
    partition = stage.partition
    folder = Path(partition.log.folder)
    files, rows = len(list(folder.glob("*.txnindex"))), len(partition.aborted)
    assert files == rows == 3
    third = partition.aborted.between(0, 1000)[2]
    partition.log.advance_log_start(third[1] + 1)
    partition.aborted.forget_before(partition.log.log_start_offset)
    assert partition.aborted.between(0, 1000) == [third], "its beginning lies before the start, its end behind"
    assert len(list(folder.glob("*.txnindex"))) == 1
    again = stage.stopped()
    assert again.partition.aborted.between(0, 1000) == [third]


# --- any order, any restart

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(-1, 2), st.integers(1, 3)),
        st.tuples(st.just("end"), st.integers(0, 2), st.booleans()),
        st.sampled_from([("kill",), ("stop",), ("snapshot",), ("late",)]),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_any_order_and_any_restart(steps: list[tuple[object, ...]]) -> None:
    """S5, H4 and H5: after every step a reader sees what was committed, and a restart changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder) / "0")
        for number, (what, *arguments) in enumerate(steps, 1):
            if what == "write":
                stage.write(*arguments)  # type: ignore[arg-type]
            elif what == "end":
                stage.end(*arguments)  # type: ignore[arg-type]
            elif what == "late":  # the next append comes so much later that it begins a segment
                stage.write(-1, timestamp=NOW + number * 30 * 86_400_000)
            elif what == "snapshot":
                stage.partition.log.take_snapshot()
            else:
                before = stage.state()
                stage = stage.killed(Path(folder) / f"{number}") if what == "kill" else stage.stopped()
                assert stage.state() == before
            stage.check()


@settings(max_examples=60, deadline=None)
@given(STEPS)
@example(
    [
        ("write", -1, 2),
        ("write", 2, 1),
        ("end", 2, False),
        ("write", 2, 2),
        ("end", 2, True),
        ("write", -1, 1),
        ("write", 2, 1),
        ("write", 2, 3),
        ("stop",),
        ("end", 2, False),
        ("stop",),
    ]
)
def test_compaction_keeps_the_newest_committed_value_of_each_key(steps: list[tuple[object, ...]]) -> None:
    """It touches no open transaction, lets no aborted record stand for its key, and no emptied batch opens one."""
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder) / "0", COMPACTED)
        for number, (what, *arguments) in enumerate(steps, 1):
            if what == "write":
                stage.write(*arguments)  # type: ignore[arg-type]
            elif what == "end":
                stage.end(*arguments)  # type: ignore[arg-type]
            elif what == "kill":
                stage = stage.killed(Path(folder) / f"{number}")
            else:
                stage.compact()
            bound = stage.truth.stable_before(stage.partition.high_watermark)
            assert stage.partition.last_stable_offset == bound
            keys = {offset: key for offset, (key, _, _) in stage.truth.records.items()}
            expected: dict[bytes, bytes] = {}
            for offset, value in sorted(stage.truth.committed(stage.partition.high_watermark).items()):
                expected[keys[offset]] = value
            found = {keys[offset]: value for offset, value in sorted(stage.seen().items())}
            assert found == expected
        for snapshot in Path(stage.partition.log.folder).glob("*.snapshot"):
            snapshot.unlink()
        again = stage.killed(Path(folder) / "without snapshots")
        assert again.partition.last_stable_offset == stage.partition.last_stable_offset


def test_an_abort_marker_behind_the_last_stable_offset_is_found(tmp_path: Path) -> None:
    """Another transaction began before the marker and is open: the round ends below it, the marker stands above."""
    stage = Stage(tmp_path, COMPACTED)
    kept = stage.write(keys=1)
    for _ in range(12):
        stage.write(0, keys=1)
    stage.write(1, 3, keys=1)
    stage.end(0, False)
    assert stage.compact()
    assert list(stage.seen()) == [kept]


def test_an_aborted_record_whose_marker_lies_behind_the_round_does_not_stand_for_its_key(tmp_path: Path) -> None:
    stage = Stage(tmp_path, COMPACTED)
    stage.write(keys=1)
    kept = stage.partition.log.log_end_offset - 1
    stage.write(1, keys=1)
    while stage.partition.log.active_segment.base_offset == 0:
        stage.write(count=3, keys=1_000_000)
    stage.end(1, False)
    assert stage.compact()
    assert kept in stage.seen()


def test_small_segments_roll(tmp_path: Path) -> None:
    """The tests above mean something only when segments are small enough."""
    stage = Stage(tmp_path)
    for _ in range(30):
        stage.write(1, 2)
    assert len(stage.partition.log.segments) > 3
    assert SMALL.segment_bytes < 1000

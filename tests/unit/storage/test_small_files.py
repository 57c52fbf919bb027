"""Epochs, snapshots, checkpoints, the data directory, the offset index: Kafka's formats, and each damage refused."""

import errno
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.model.ids import TopicPartition, new_uuid
from barnabas.model.producers import ProducerEntry
from barnabas.storage import checkpoints, snapshots
from barnabas.storage.directory import (
    CLEAN_SHUTDOWN,
    RECOVERY_POINTS,
    DataDirectory,
    DirectoryError,
    read_partition_metadata,
    write_partition_metadata,
)
from barnabas.storage.disk import DISK, Disk
from barnabas.storage.epochs import LeaderEpochs
from barnabas.storage.indexes.index_file import PAGE_ENTRIES, TAIL_ENTRIES
from barnabas.storage.indexes.offset_index import OffsetIndex
from barnabas.storage.log import Log
from tests.unit.storage.stories import SMALL, batch_at, fill, write

# --- leader epochs --------------------------------------------------------------------------------------------------


def epochs_at(path: Path, *entries: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs(DISK, str(path / "leader-epoch-checkpoint"))
    for epoch, offset in entries:
        epochs.assign(epoch, offset)
    return epochs


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(-1, (-1, -1)), (0, (0, 5)), (1, (1, 10)), (2, (2, 20)), (3, (2, 20)), (4, (2, 20)), (5, (5, 30)), (6, (-1, -1))],
)
def test_where_an_epoch_ended(tmp_path: Path, asked: int, answer: tuple[int, int]) -> None:
    epochs = epochs_at(tmp_path, (1, 5), (2, 10), (5, 20))
    assert epochs.end_offset_for(asked, 30) == answer


def test_the_epoch_of_an_offset(tmp_path: Path) -> None:
    epochs = epochs_at(tmp_path, (1, 5), (2, 10))
    assert [epochs.epoch_for(offset) for offset in (4, 5, 9, 10, 99)] == [-1, 1, 1, 2, 2]


def test_epochs_are_written_as_kafka_writes_them_and_read_again(tmp_path: Path) -> None:
    epochs = epochs_at(tmp_path, (0, 0), (3, 17))
    assert epochs.write()
    assert not epochs.write()
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n2\n0 0\n3 17\n"
    again = epochs_at(tmp_path)
    again.load()
    assert (again.entries, again.latest, again.dirty) == ([(0, 0), (3, 17)], 3, False)


def test_epochs_follow_both_ends_of_the_log(tmp_path: Path) -> None:
    epochs = epochs_at(tmp_path, (1, 5), (2, 10), (5, 20))
    epochs.truncate_from_start(12)
    assert epochs.entries == [(2, 12), (5, 20)]
    epochs.truncate_from_end(20)
    assert (epochs.entries, epochs.latest) == ([(2, 12)], 2)


def test_an_epoch_that_contradicts_later_ones_replaces_them(tmp_path: Path) -> None:
    epochs = epochs_at(tmp_path, (1, 5), (2, 10), (5, 20))
    epochs.assign(4, 15)
    assert epochs.entries == [(1, 5), (2, 10), (4, 15)]


@pytest.mark.parametrize("text", ["", "1\n0\n", "0\n2\n0 0\n", "0\nx\n", "0\n1\nnonsense line\n", "\xff\xfe"])
def test_a_damaged_epoch_file_is_no_history(tmp_path: Path, text: str) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_bytes(text.encode("latin-1"))
    epochs = epochs_at(tmp_path)
    epochs.load()
    assert epochs.entries == []


@pytest.mark.parametrize("text", [None, "nonsense", "0\n0\n", "0\n1\n0 0\n", "0\n2\n0 0\n7 30\n"])
def test_epochs_that_do_not_fit_the_log_are_read_from_its_batches(tmp_path: Path, text: str | None) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=True)
    for offset in range(40):
        write(log, batch_at(offset, epoch=0 if offset < 30 else 3))
    log.close()
    file = tmp_path / "t-0" / "leader-epoch-checkpoint"
    file.unlink() if text is None else file.write_text(text)
    log = Log.open(tmp_path / "t-0", SMALL, clean=True)
    assert log.epochs.entries == [(0, 0), (3, 30)]
    assert log.epochs.dirty, "written again with the next flush"


# --- producer snapshots ---------------------------------------------------------------------------------------------

PRODUCERS = [ProducerEntry(7, 2, 99, 1_234, 9, 1_700_000_000_000), ProducerEntry(2**40, 0, -1, -1, 0, 5, 3, 77)]


def test_a_snapshot_reads_back_and_every_flipped_byte_is_noticed() -> None:
    data = snapshots.encode(PRODUCERS)
    assert len(data) == 10 + 2 * 46
    assert snapshots.decode(data) == PRODUCERS
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1
        assert snapshots.decode(bytes(damaged)) is None
    assert [snapshots.decode(data[:size]) for size in range(len(data))] == [None] * len(data)


def test_snapshots_are_taken_at_rolls_and_closes_and_the_two_newest_stay(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    log.snapshot_source = lambda: PRODUCERS
    fill(log, 40)
    log.close()
    names = sorted(path.name for path in log.directory.glob("*.snapshot"))
    assert names == [f"{log.bases[-1]:020d}.snapshot", f"{80:020d}.snapshot"]
    log = Log.open(log.directory, SMALL, clean=True)
    assert log.load_producers() == (80, PRODUCERS)


def test_a_torn_snapshot_gives_way_to_the_one_before(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    log.snapshot_source = lambda: PRODUCERS
    fill(log, 40)
    log.close()
    newest = log.directory / f"{80:020d}.snapshot"
    newest.write_bytes(newest.read_bytes()[:-1])
    reopened = Log.open(log.directory, SMALL, clean=True)
    assert reopened.load_producers() == (log.bases[-1], PRODUCERS)
    assert [header.base_offset for header in reopened.headers_from(log.bases[-1])] == list(range(log.bases[-1], 80, 2))


def test_without_a_snapshot_the_owner_replays_the_whole_log(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    fill(log, 40)
    log.advance_log_start(11)
    assert log.load_producers() == (11, [])
    assert next(log.headers_from(11)).base_offset == 10


# --- checkpoints and the data directory -----------------------------------------------------------------------------


def test_offset_checkpoints_are_kafkas(tmp_path: Path) -> None:
    path = tmp_path / "recovery-point-offset-checkpoint"
    offsets = {TopicPartition("b-c", 1): 5, TopicPartition("a", 0): 7}
    checkpoints.write_offsets(str(path), offsets)
    assert path.read_text() == "0\n2\na 0 7\nb-c 1 5\n"
    assert checkpoints.read_offsets(str(path)) == offsets
    path.write_text("0\n2\na 0 7\n")
    assert checkpoints.read_offsets(str(path)) == {}


def test_a_data_directory_belongs_to_one_process_and_one_node(tmp_path: Path) -> None:
    directory = DataDirectory.open(tmp_path / "data")
    with pytest.raises(DirectoryError, match="in use by another process"):
        DataDirectory.open(tmp_path / "data")
    directory.claim("cluster-a", 1)
    directory.close(clean=True)
    again = DataDirectory.open(tmp_path / "data")
    assert (again.cluster_id, again.node_id, again.directory_id) == ("cluster-a", 1, directory.directory_id)
    with pytest.raises(DirectoryError, match="belongs to cluster cluster-a, not cluster-b"):
        again.claim("cluster-b", 1)
    with pytest.raises(DirectoryError, match="belongs to node 1, not 2"):
        again.claim("cluster-a", 2)


def test_only_a_clean_stop_leaves_the_marker(tmp_path: Path) -> None:
    directory = DataDirectory.open(tmp_path)
    assert not directory.clean
    directory.close(clean=True)
    assert (tmp_path / CLEAN_SHUTDOWN).exists()
    directory = DataDirectory.open(tmp_path)
    assert directory.clean
    directory.close(clean=False)
    assert not DataDirectory.open(tmp_path).clean


def test_a_directory_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DirectoryError, match=r"cannot use .* as data directory"):
        DataDirectory.open(tmp_path / "file" / "data")


def test_the_order_of_meta_properties_is_free_and_a_damaged_one_or_kafkas_is_refused(tmp_path: Path) -> None:
    meta = tmp_path / "meta.properties"
    text = "node.id=3\ndirectory.id=vO0O8dAuS9-CcuZUIniDEA\nversion=1\ncluster.id=abc\n"
    meta.write_text(f"#\n#Sun Nov 15\n{text}")
    with pytest.raises(DirectoryError, match="was written by Apache Kafka"):
        DataDirectory.open(tmp_path)
    meta.write_text(text)
    directory = DataDirectory.open(tmp_path)
    assert (directory.cluster_id, directory.node_id) == ("abc", 3)
    directory.close(clean=False)
    meta.write_text("nonsense")
    with pytest.raises(DirectoryError, match="is damaged"):
        DataDirectory.open(tmp_path)


def test_partitions_are_found_by_the_names_of_their_folders(tmp_path: Path) -> None:
    directory = DataDirectory.open(tmp_path)
    for name in ("a-0", "with-dash-12", "__consumer_offsets-3", "no number", "x-", "lost+found"):
        (tmp_path / name).mkdir()
    assert sorted(directory.partition_directories()) == [("__consumer_offsets", 3), ("a", 0), ("with-dash", 12)]
    doomed = directory.doom_partition(TopicPartition("a", 0))
    assert doomed.is_dir()
    assert TopicPartition("a", 0) not in directory.partition_directories()
    assert directory.remove_doomed() == 1
    directory.write_checkpoint(RECOVERY_POINTS, {TopicPartition("a", 0): 1})
    assert directory.read_checkpoint(RECOVERY_POINTS) == {("a", 0): 1}


def test_a_folder_knows_its_topic(tmp_path: Path) -> None:
    assert read_partition_metadata(tmp_path) is None
    topic_id = new_uuid()
    write_partition_metadata(tmp_path, topic_id)
    assert read_partition_metadata(tmp_path) == topic_id
    (tmp_path / "partition.metadata").write_text("version: 0\ntopic_id: short")
    assert read_partition_metadata(tmp_path) is None


# --- the offset index -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entries", [0, 1, TAIL_ENTRIES - 1, TAIL_ENTRIES, PAGE_ENTRIES * 3 + 7, 5_000])
def test_a_search_finds_the_entry_a_plain_search_finds(tmp_path: Path, entries: int) -> None:
    index = OffsetIndex(DISK, str(tmp_path / "00000000000000000100.index"), 100)
    expected = [(100 + 3 * number + 2, 50 * number + 10) for number in range(entries)]
    for last_offset, position in expected:
        index.add_batch(last_offset, position)
    assert len(index) == entries
    for offset in (0, 101, 102, 103, 100 + entries, 100 + 3 * entries - 1, 10**6):
        assert index.lookup(offset) == max((e for e in expected if e[0] <= offset), default=None)


@settings(max_examples=25, deadline=None)
@given(keep=st.integers(0, 1_200))
def test_an_index_is_cut_and_goes_on(tmp_path_factory: pytest.TempPathFactory, keep: int) -> None:
    path = tmp_path_factory.mktemp("index") / "0.index"
    index = OffsetIndex(DISK, str(path), 0)
    for number in range(1_100):
        index.add_batch(number, number * 10)
    index.truncate(keep)
    kept = min(keep, 1_100)
    assert len(index) == kept
    index.add_batch(5_000, 60_000)
    index.write()
    assert path.stat().st_size == (kept + 1) * 8
    assert OffsetIndex(DISK, str(path), 0, path.stat().st_size).last_batch() == (5_000, 60_000)


@pytest.mark.parametrize("entries", [0, 1, 2, 63, 700])
def test_the_zeros_that_kafka_preallocates_are_not_entries(tmp_path: Path, entries: int) -> None:
    path = tmp_path / "0.index"
    index = OffsetIndex(DISK, str(path), 0)
    for number in range(entries):
        index.add_batch(number + 1, number * 10)
    index.write(create=True)
    path.write_bytes(path.read_bytes() + bytes(8 * 1_000))
    padded = OffsetIndex(DISK, str(path), 0, path.stat().st_size)
    padded.trim_padding()
    assert len(padded) == entries


def test_a_torn_entry_does_not_stay_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "0.index"
    path.write_bytes(b"\x01" * 13)
    index = OffsetIndex(DISK, str(path), 0, 13)
    index.truncate(0)
    index.write(create=True)
    assert path.read_bytes() == b""
    path.write_bytes(b"\x01" * 5)
    OffsetIndex(DISK, str(path), 0, 5).write(create=True)
    assert path.read_bytes() == b""


def test_a_snapshot_that_finds_no_room_leaves_nothing_behind(tmp_path: Path) -> None:
    class Full(Disk):
        room = 20

        def pwrite(self, fd: int, data: Any, position: int) -> int:
            if self.room < 1:
                raise OSError(errno.ENOSPC, "No space left on device")
            taken = min(self.room, len(data))
            self.room -= taken
            return super().pwrite(fd, data[:taken], position)

    disk = Full()
    kept = snapshots.Snapshots(disk, str(tmp_path))
    entry = ProducerEntry(7, 0, 0, 0, 0, 1, -1, -1)
    with pytest.raises(OSError, match="No space"):
        kept.write(5, [entry], recovery_point=0)
    assert not list(tmp_path.iterdir()) and not kept.offsets
    disk.room = 1000
    assert kept.write(5, [entry], recovery_point=0) is not None
    assert kept.newest() == kept.peek() == (5, [entry])


def test_a_torn_snapshot_is_not_believed(tmp_path: Path) -> None:
    kept = snapshots.Snapshots(Disk(), str(tmp_path))
    old, new = ProducerEntry(7, 0, 0, 0, 0, 1, -1, -1), ProducerEntry(8, 0, 0, 0, 0, 1, -1, -1)
    kept.write(5, [old], recovery_point=0)
    path = kept.write(9, [old, new], recovery_point=0)
    assert path is not None
    whole = Path(path).read_bytes()
    for size in range(len(whole)):
        Path(path).write_bytes(whole[:size])
        assert kept.peek() == (5, [old])
    names = [file.name for file in tmp_path.iterdir()]
    assert snapshots.Snapshots(Disk(), str(tmp_path), names).newest() == (5, [old])
    assert not Path(path).exists()

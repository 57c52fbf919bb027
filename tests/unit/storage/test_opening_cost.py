"""What an opening asks of the disk. After a start of all nodes, each opens thousands of small logs before its replicas
can be in sync, so a call more for each of them is a second more."""

from pathlib import Path

import pytest

from barnabas.broker.partition.state import PartitionState
from barnabas.storage.config import LogConfig
from barnabas.storage.disk import Disk, OpenFile
from barnabas.storage.log import Log
from tests.unit.storage.stories import batch_at, write

OPENED = ["scan", "open 00000000000000000000.log"]


class CountingDisk(Disk):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def open(self, path: str, *, write: bool = False, create: bool = False) -> OpenFile:
        self.calls.append(f"open {path.rpartition('/')[2]}")
        return super().open(path, write=write, create=create)

    def scan(self, directory: str) -> dict[str, int]:
        self.calls.append("scan")
        return super().scan(directory)

    def make_directory(self, path: str) -> bool:
        self.calls.append("make")
        return super().make_directory(path)

    def read_whole(self, path: str) -> bytes | None:
        self.calls.append(f"read {path.rpartition('/')[2]}")
        return super().read_whole(path)

    def pread(self, fd: int, size: int, position: int) -> bytes:
        self.calls.append("pread")
        return Disk.pread(fd, size, position)


def small_log(folder: Path, *, clean: bool) -> None:
    log = Log.open(folder, LogConfig(), clean=True)
    write(log, batch_at(0))
    log.snapshot_source = list
    if clean:
        log.close(sync=False)
    else:
        log.let_go()


@pytest.mark.parametrize(
    ("clean", "calls"),
    [
        # the batch is read for the end of the log and its epoch; the snapshot says that nothing is to be replayed
        (True, [*OPENED, "pread", "read 00000000000000000001.snapshot"]),
        # the batch is read by recovery, and once more for its producer
        (False, [*OPENED, "pread", "pread"]),
    ],
    ids=["after a clean stop", "after a kill"],
)
def test_a_small_log_is_listed_once_and_opened_once(tmp_path: Path, clean: bool, calls: list[str]) -> None:
    small_log(tmp_path / "t-0", clean=clean)
    disk = CountingDisk()
    log = Log.open(tmp_path / "t-0", LogConfig(), clean=clean, disk=disk)
    PartitionState.load(log, log.report.transaction_indexes)
    assert disk.calls == calls
    assert log.log_end_offset == 1
    assert log.epochs.latest == 0
    disk.calls.clear()
    write(log, batch_at(1))
    assert disk.calls == []  # the file is open for writing already


def test_a_new_folder_is_made(tmp_path: Path) -> None:
    disk = CountingDisk()
    log = Log.open(tmp_path / "t-0", LogConfig(), clean=False, disk=disk)
    assert disk.calls == ["scan", "make"]
    assert log.parent_dirty


def test_a_log_that_is_not_read_from_its_start_gets_its_whole_history_of_epochs(tmp_path: Path) -> None:
    """An index entry spares reading the first batches, and the file with their epochs is gone."""
    config = LogConfig(index_interval_bytes=100)
    log = Log.open(tmp_path / "t-0", config, clean=True)
    for offset in range(20):
        log.append(batch_at(offset, epoch=offset // 5), offset, offset, 1_000, leader_epoch=offset // 5)
    log.close(sync=False)
    (tmp_path / "t-0" / "leader-epoch-checkpoint").unlink(missing_ok=True)
    assert (tmp_path / "t-0" / f"{0:020d}.index").stat().st_size
    opened = Log.open(tmp_path / "t-0", config, clean=True)
    assert opened.epochs.entries == [(0, 0), (1, 5), (2, 10), (3, 15)]

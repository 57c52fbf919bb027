"""What may happen at once: a flush beside appends, several logs opened in threads, a read that must not wait."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from barnabas.storage.config import LogConfig
from barnabas.storage.disk import NO_WAIT, ColdRead, Disk
from barnabas.storage.files import FilePool
from barnabas.storage.indexes.aborted import AbortedTransaction, AbortedTransactions
from barnabas.storage.log import Log
from tests.unit.storage.stories import SMALL, FullDisk, copy_of, descriptors, fill, read_batches


class RecordingDisk(Disk):
    """Remembers how long each file was when it was last flushed, as a power loss would leave it."""

    def __init__(self) -> None:
        self.flushed: dict[str, int] = {}

    def sync(self, fd: int, path: str) -> None:
        self.flushed[Path(path).name] = Path(path).stat().st_size if Path(path).exists() else 0


def test_a_flush_beside_appends_and_rolls_keeps_its_word(tmp_path: Path) -> None:
    disk = RecordingDisk()
    log = Log.open(tmp_path / "t-0", SMALL, clean=False, disk=disk)
    log.snapshot_source = list
    stop = threading.Event()
    promises: list[tuple[int, dict[str, int]]] = []

    def flush_all_the_time() -> None:
        while not stop.is_set():
            promises.append((log.flush(), dict(disk.flushed)))

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(flush_all_the_time)
        while len(promises) < 20 or log.log_end_offset < 1_500:
            fill(log, 5)
        stop.set()
        running.result()
    for offset, flushed in promises[:: len(promises) // 15]:
        # What was flushed by then, alone, must open to a log that reaches as far as was promised.
        folder = tmp_path / f"power-loss-{offset}"
        if folder.exists():
            continue
        folder.mkdir()
        for path in log.directory.glob("*.log"):
            if path.name in flushed:
                (folder / path.name).write_bytes(path.read_bytes()[: flushed[path.name]])
        assert Log.open(folder, SMALL, clean=False).log_end_offset >= offset


def test_logs_are_opened_in_threads_with_few_descriptors(tmp_path: Path) -> None:
    written = {}
    for number in range(12):
        log = Log.open(tmp_path / f"t-{number}", SMALL, clean=False)
        written[number] = fill(log, 25)
        copy_of(log, tmp_path / f"crashed-{number}")
        log.close()
    before = descriptors(tmp_path)
    files = FilePool(maximum=4)

    def recover(number: int) -> Log:
        return Log.open(tmp_path / f"crashed-{number}", SMALL, clean=False, files=files)

    with ThreadPoolExecutor(4) as pool:
        logs = list(pool.map(recover, range(12)))
    assert len(files) <= 4
    for number, log in enumerate(logs):
        assert read_batches(log) == written[number]
        log.close()
    assert descriptors(tmp_path) == before


def test_a_read_that_would_wait_says_so_when_asked(tmp_path: Path) -> None:
    class Cold(Disk):
        cold = True

        def no_wait(self) -> Disk:
            return ColdDoor() if self.cold else NO_WAIT

    class ColdDoor(Disk):
        def pread(self, fd: int, size: int, position: int) -> bytes:
            raise ColdRead

    disk = Cold()
    log = Log.open(tmp_path / "t-0", SMALL, clean=False, disk=disk)
    written = fill(log, 30)
    assert log.read(58, 1_000, 60, wait=False).read() == written[29]  # the tail is known without a read
    with pytest.raises(ColdRead):
        log.read(0, 1_000, 60, wait=False)
    assert log.read(0, len(written[0]), 60).read() == written[0]
    disk.cold = False  # what has just been written is in the page cache
    for offset in range(60):
        assert log.read(offset, 10, 60, wait=False).read() == written[offset // 2]


def test_no_room_for_the_epochs_is_no_end_of_the_log(tmp_path: Path) -> None:
    disk = FullDisk(10**6)
    log = Log.open(tmp_path / "t-0", LogConfig(), clean=False, disk=disk)
    fill(log, 3)
    disk.room = 0
    assert log.flush() == 0
    disk.room = 10**6
    assert log.flush() == 6
    assert (log.directory / "leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"


def test_aborted_transactions_outlive_the_segments_that_compaction_or_rolling_moves(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", SMALL, clean=False)
    aborted = AbortedTransactions(log.folder, disk=log.disk)
    fill(log, 30)
    for number, base in enumerate(log.bases):
        aborted.add(AbortedTransaction(7, number * 10, number * 10 + 5, number * 10), base)
    log.advance_log_start(log.bases[2])
    log.close()
    reopened = Log.open(log.directory, SMALL, clean=True)
    again = AbortedTransactions(reopened.folder, disk=reopened.disk)
    again.load(reopened.disk.scan(reopened.folder), 25)
    assert again.between(0, 100) == [(7, 0), (7, 10)]  # those from offset 25 on are the owner's to replay
    again.forget_before(6)
    assert again.between(0, 100) == [(7, 10)]

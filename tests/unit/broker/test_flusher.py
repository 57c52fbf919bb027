"""A flush that fails for want of descriptors or memory is tried again; one that fails on the disk ends the node."""

import asyncio
import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from barnabas.broker.upkeep.flusher import Flusher
from barnabas.storage import flushing
from barnabas.storage.config import LogConfig
from barnabas.storage.disk import Disk, StorageFatal
from barnabas.storage.log import Log
from tests.unit.storage.stories import FullDisk, batch_at, write


class FailingDisk(Disk):
    def __init__(self, code: int, times: int) -> None:
        self.code, self.times = code, times

    def sync_directory(self, path: str) -> None:
        if self.times:
            self.times -= 1
            raise OSError(self.code, os.strerror(self.code))
        super().sync_directory(path)


class Partition:
    deleted = False

    def __init__(self, log: Log) -> None:
        self.log = log
        self.offsets: list[int] = []

    def flushed(self, offset: int) -> None:
        self.offsets.append(offset)


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR])
def test_a_shortage_is_waited_out(tmp_path: Path, code: int) -> None:
    async def test() -> None:
        disk, failures = FailingDisk(code, 2), list[BaseException]()
        partition = Partition(Log.open(tmp_path / "t-0", LogConfig(), clean=True, disk=disk))
        flusher = Flusher(failures.append, ThreadPoolExecutor(1))
        write(partition.log, batch_at(0, 3))
        done = asyncio.Event()
        flusher.request(partition, done.set)
        async with asyncio.timeout(10):
            await done.wait()
        assert (failures, partition.offsets, disk.times) == ([], [3], 0)
        flusher.close()

    asyncio.run(test())


def test_an_error_of_the_disk_is_fatal(tmp_path: Path) -> None:
    async def test() -> None:
        failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        disk = FailingDisk(errno.EIO, 1)
        partition = Partition(Log.open(tmp_path / "t-0", LogConfig(), clean=True, disk=disk))
        flusher = Flusher(failed.set_result, ThreadPoolExecutor(1))
        write(partition.log, batch_at(0, 3))
        flusher.request(partition)
        async with asyncio.timeout(10):
            assert isinstance(await failed, OSError)
        assert partition.offsets == []
        flusher.close()

    asyncio.run(test())


def test_an_error_while_the_node_stops_is_reported_by_close(tmp_path: Path) -> None:
    """No callback of the loop runs while `close` waits, and the clean-shutdown marker is written right after it."""

    async def test() -> None:
        failures = list[BaseException]()
        partition = Partition(Log.open(tmp_path / "t-0", LogConfig(), clean=True, disk=FailingDisk(errno.EIO, 1)))
        flusher = Flusher(failures.append, ThreadPoolExecutor(1))
        write(partition.log, batch_at(0, 3))
        flusher.request(partition)
        await asyncio.sleep(0)  # the fsync begins at the end of the loop's turn
        flusher.close()
        assert [type(error) for error in failures] == [OSError]

    asyncio.run(test())


class CountingDisk(Disk):
    def __init__(self) -> None:
        self.syncs = 0

    def sync(self, fd: int, path: str) -> None:
        self.syncs += 1
        super().sync(fd, path)


def test_what_one_turn_of_the_loop_appends_shares_one_fsync(tmp_path: Path) -> None:
    async def test() -> None:
        disk, failures = CountingDisk(), list[BaseException]()
        partition = Partition(Log.open(tmp_path / "t-0", LogConfig(), clean=True, disk=disk))
        flusher = Flusher(failures.append, ThreadPoolExecutor(1))
        done = asyncio.Event()
        for number in range(5):
            write(partition.log, batch_at(3 * number, 3))
            flusher.request(partition, done.set)
        async with asyncio.timeout(10):
            await done.wait()
        flusher.close()
        assert (failures, partition.offsets) == ([], [15])
        assert disk.syncs <= 2, "the log, and the epochs of a new one"

    asyncio.run(test())


def test_who_asks_when_a_flush_ends_gets_one_of_its_own(tmp_path: Path) -> None:
    class Writing(Partition):
        def flushed(self, offset: int) -> None:
            super().flushed(offset)
            if offset < 9:
                write(self.log, batch_at(offset, 3))
                flusher.request(self)

    failures = list[BaseException]()
    flusher = Flusher(failures.append, ThreadPoolExecutor(1))

    async def test() -> None:
        partition = Writing(Log.open(tmp_path / "t-0", LogConfig(), clean=True))
        write(partition.log, batch_at(0, 3))
        done = asyncio.Event()
        flusher.request(partition, done.set)
        async with asyncio.timeout(10):
            await done.wait()
        assert (failures, partition.offsets) == ([], [3, 6, 9])
        flusher.close()

    asyncio.run(test())


def logs_of(tmp_path: Path, disk: Disk, count: int) -> list[Partition]:
    partitions = [Partition(Log.open(tmp_path / f"t-{n}", LogConfig(), clean=True, disk=disk)) for n in range(count)]
    for partition in partitions:
        write(partition.log, batch_at(0, 3))
    return partitions


def test_many_are_flushed_by_one_flush_of_the_file_system(tmp_path: Path) -> None:
    async def test() -> None:
        disk, failures, syncs, told = CountingDisk(), list[BaseException](), list[None](), list[None]()
        partitions = logs_of(tmp_path, disk, 40)
        cut = partitions[7].log
        flusher = Flusher(failures.append, ThreadPoolExecutor(1))

        def sync_filesystem() -> None:
            syncs.append(None)
            cut.truncate_to(0)  # while it is being flushed: what was flushed is gone

        await flusher.flush_together(partitions, sync_filesystem, lambda: told.append(None))
        flusher.close()
        assert (failures, len(syncs), disk.syncs, len(told)) == ([], 1, 0, 40)
        assert [partition.offsets for partition in partitions] == [[3]] * 7 + [[0]] + [[3]] * 32
        assert not any(partition.log.folder_dirty or partition.log.unsynced_paths for partition in partitions[:7])

    asyncio.run(test())


def test_epochs_are_written_unless_a_recovery_reads_them_from_the_batches(tmp_path: Path) -> None:
    config = LogConfig(index_interval_bytes=1)
    logs = [Log.open(tmp_path / f"t-{number}", config, clean=True) for number in range(2)]
    write(logs[0], batch_at(0, 3, epoch=1))
    for number in range(3):
        write(logs[1], batch_at(3 * number, 3, epoch=number + 1))
    assert logs[0].active_segment.has_no_index_entry and not logs[1].active_segment.has_no_index_entry
    assert flushing.flush_together(logs, lambda: None) == [3, 9]
    assert [log.epochs.on_disk for log in logs] == [False, True]
    for log, end_offset, epochs in zip(logs, (3, 9), ([(1, 0)], [(1, 0), (2, 3), (3, 6)]), strict=True):
        log.let_go()
        again = Log.open(log.directory, config, clean=False, recovery_point=end_offset)
        assert (again.epochs.entries, again.log_end_offset) == (epochs, end_offset)


def test_a_full_disk_counts_nothing_as_flushed_whose_epochs_could_not_be_written(tmp_path: Path) -> None:
    config, disk = LogConfig(index_interval_bytes=1), FullDisk(10_000)
    logs = [Log.open(tmp_path / f"t-{number}", config, clean=True, disk=disk) for number in range(2)]
    write(logs[0], batch_at(0, 3))
    for number in range(2):
        write(logs[1], batch_at(3 * number, 3))
    disk.room = 0
    assert flushing.flush_together(logs, lambda: None) == [3, 0]
    assert [log.folder_dirty for log in logs] == [False, True]


def test_a_flush_of_the_file_system_that_fails_is_fatal_to_all(tmp_path: Path) -> None:
    async def test() -> None:
        failures = list[BaseException]()
        partitions = logs_of(tmp_path, Disk(), 3)
        flusher = Flusher(failures.append, ThreadPoolExecutor(1))

        def fail() -> None:
            raise StorageFatal("/data", "syncfs failed: Input/output error")

        await flusher.flush_together(partitions, fail, lambda: None)
        flusher.close()
        assert isinstance(failures[0], StorageFatal)
        assert all(partition.log.failure is not None and not partition.offsets for partition in partitions)

    asyncio.run(test())

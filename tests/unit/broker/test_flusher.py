"""A flush that fails for want of descriptors or memory is tried again; one that fails on the disk ends the node."""

import asyncio
import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from barnabas.broker.upkeep.flusher import Flusher
from barnabas.storage.config import LogConfig
from barnabas.storage.disk import Disk
from barnabas.storage.log import Log
from tests.unit.storage.stories import batch_at, write


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

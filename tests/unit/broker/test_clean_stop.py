"""A clean stop with many open partitions: one flush of the file system, and the marker only after it."""

import errno
from pathlib import Path

import pytest

from barnabas.broker.node import Node
from barnabas.broker.platform import Platform
from barnabas.storage.directory import PRODUCERS_AT_STOP
from barnabas.storage.disk import Disk, StorageFatal

from .cluster import Cluster, run
from .test_replication import batch, create, produce

PARTITIONS = 60


class Recording(Disk):
    """Real files, and a list of every flush."""

    def __init__(self) -> None:
        self.flushed: list[str] = []
        self.together = True
        self.fails = False

    def sync(self, fd: int, path: str) -> None:
        self.flushed.append(path)
        super().sync(fd, path)

    def can_sync_filesystem(self) -> bool:
        return self.together and super().can_sync_filesystem()

    def sync_filesystem(self, fd: int, path: str) -> None:
        self.flushed.append("everything")
        if self.fails:
            raise StorageFatal(path, "syncfs failed: Input/output error")
        super().sync_filesystem(fd, path)


class RecordingGround(Platform):
    def __init__(self) -> None:
        self.recording = self.disk = Recording()


async def filled(tmp_path: Path, platform: RecordingGround) -> tuple[Cluster, Node]:
    cluster = Cluster(tmp_path, 1)
    cluster.grounds[1] = platform
    await cluster.start()
    await create(cluster, partitions=PARTITIONS)
    node = await cluster.controller()
    for index in range(PARTITIONS):
        data = batch([b"value"] * (200 if index == 0 else 1), (7000 + index, 0, 0))  # the first one is not small
        assert (await produce(node, data, index=index)).error_code == 0
    platform.recording.flushed.clear()
    return cluster, node


@pytest.mark.parametrize("together", [True, False])
def test_all_is_there_after_a_clean_stop(tmp_path: Path, together: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        platform = RecordingGround()
        platform.recording.together = together
        cluster, _ = await filled(tmp_path, platform)
        await cluster.stop()
        flushed = platform.recording.flushed
        segments = {path for path in flushed if path.endswith(".log") and "/t-" in path}
        marker = [number for number, path in enumerate(flushed) if ".kafka_cleanshutdown" in path]
        if together:
            assert not segments and flushed.count("everything") == 1 and len(flushed) < 15, flushed
            assert flushed.index("everything") < marker[0]
            assert not list(tmp_path.glob("1/t-*/*.snapshot"))
            assert (tmp_path / "1" / PRODUCERS_AT_STOP).exists()
        else:  # a system whose syncfs does not tell of failed writes: each log for itself
            assert len(segments) == PARTITIONS and marker[0] > flushed.index(max(segments, key=flushed.index))
            assert len(list(tmp_path.glob("1/t-*/*.snapshot"))) == PARTITIONS
        caplog.clear()
        await cluster.start()
        try:
            node = await cluster.controller()
            assert node.data.clean
            for index in range(PARTITIONS):
                hosted = node.partitions.get("t", index)
                assert hosted is not None
                partition = hosted.open()
                assert partition.log.log_end_offset == (200 if index == 0 else 1)
                assert [entry.producer_id for entry in partition.producers.entries()] == [7000 + index]
                assert partition.log.report.quiet
                assert [entry[1] for entry in partition.log.epochs.entries][:1] == [0]
            assert not caplog.records
        finally:
            cluster.drop()

    caplog.set_level("WARNING")
    run(test)


def test_without_the_flush_there_is_no_marker(tmp_path: Path) -> None:
    async def test() -> None:
        platform = RecordingGround()
        _, node = await filled(tmp_path, platform)
        platform.recording.fails = True
        with pytest.raises(StorageFatal):
            await node.stop()
        assert not (tmp_path / "1" / ".kafka_cleanshutdown").exists()
        node.data.close(clean=False)

    run(test)


async def known_producers(cluster: Cluster, partitions: range) -> list[list[int]]:
    node = await cluster.controller()
    found = []
    for index in partitions:
        hosted = node.partitions.get("t", index)
        assert hosted is not None
        found.append([entry.producer_id for entry in hosted.open().producers.entries()])
    return found


def test_producers_are_known_after_several_clean_stops(tmp_path: Path) -> None:
    """Of partitions that nobody opened in between too, although fewer than are closed together were open."""

    async def test() -> None:
        cluster, _ = await filled(tmp_path, RecordingGround())
        await cluster.stop()
        for _ in range(2):
            await cluster.start()
            assert await known_producers(cluster, range(2)) == [[7000], [7001]]
            await cluster.stop()
        await cluster.start()
        try:
            assert await known_producers(cluster, range(PARTITIONS)) == [[7000 + i] for i in range(PARTITIONS)]
        finally:
            cluster.drop()

    run(test)


def test_producers_are_known_after_a_crash_that_follows_a_clean_stop(tmp_path: Path) -> None:
    async def test() -> None:
        cluster, _ = await filled(tmp_path, RecordingGround())
        await cluster.stop()
        await cluster.start()
        await known_producers(cluster, range(PARTITIONS))
        cluster.kill(1)
        await cluster.start()
        try:
            node = await cluster.controller()
            assert not node.data.clean
            assert await known_producers(cluster, range(PARTITIONS)) == [[7000 + i] for i in range(PARTITIONS)]
        finally:
            cluster.drop()

    run(test)


def test_the_file_of_an_earlier_stop_is_not_used(tmp_path: Path) -> None:
    """An older version of the node stops cleanly and does not know the file."""

    async def test() -> None:
        cluster, _ = await filled(tmp_path, RecordingGround())
        await cluster.stop()
        earlier = (tmp_path / "1" / PRODUCERS_AT_STOP).read_bytes()
        await cluster.start()
        await known_producers(cluster, range(PARTITIONS))
        await cluster.stop()
        (tmp_path / "1" / PRODUCERS_AT_STOP).write_bytes(earlier)
        await cluster.start()
        try:
            node = await cluster.controller()
            assert node.data.clean and not node.data.read_producers_at_stop()
            assert await known_producers(cluster, range(3)) == [[7000], [7001], [7002]]  # from the batches
        finally:
            cluster.drop()

    run(test)


def test_no_room_for_the_file_costs_reading_at_the_next_start(tmp_path: Path) -> None:
    class Full(Recording):
        def write_whole(self, path: str, data: bytes, *, sync: bool = True) -> None:
            if path.endswith(PRODUCERS_AT_STOP):
                raise OSError(errno.ENOSPC, "No space left on device")
            super().write_whole(path, data, sync=sync)

    async def test() -> None:
        platform = RecordingGround()
        platform.recording = platform.disk = Full()
        cluster, _ = await filled(tmp_path, platform)
        await cluster.stop()
        await cluster.start()
        try:
            node = await cluster.controller()
            assert node.data.clean
            assert await known_producers(cluster, range(3)) == [[7000], [7001], [7002]]
        finally:
            cluster.drop()

    run(test)

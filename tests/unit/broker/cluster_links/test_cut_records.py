"""What a link cuts off is on disk before it goes, by name too."""

from pathlib import Path

from barnabas.broker.cluster_links.linked_log import CUT_FOLDER, save_cut
from barnabas.storage.config import LogConfig
from barnabas.storage.disk import Disk
from barnabas.storage.log import Log
from barnabas.wire.batch import iter_batches
from barnabas.wire.records import Record, build_batch, iter_records


class Watched(Disk):
    def __init__(self) -> None:
        self.synced: list[str] = []

    def sync(self, fd: int, path: str) -> None:
        self.synced.append(path)
        super().sync(fd, path)

    def sync_directory(self, path: str) -> None:
        self.synced.append(path)
        super().sync_directory(path)


def filled(folder: Path, disk: Disk, offsets: range) -> Log:
    log = Log.open(folder, LogConfig(), clean=True, disk=disk)
    for offset in offsets:
        data = bytearray(build_batch([Record(0, 1000, None, f"v{offset}".encode(), ())]))
        data[:8] = offset.to_bytes(8, "big")
        log.append(memoryview(data), base_offset=offset, last_offset=offset, max_timestamp=1000, leader_epoch=0)
    return log


def values_in(path: Path) -> list[bytes | None]:
    kept = memoryview(path.read_bytes())
    return [r.value for at, header in iter_batches(kept) for r in iter_records(kept[at : at + header.size])]


def test_cut_records_survive_a_power_loss(tmp_path: Path) -> None:
    disk = Watched()
    log = filled(tmp_path / "orders-0", disk, range(5))
    disk.synced.clear()
    path = save_cut(log, "orders-0", 3)
    folder = tmp_path / CUT_FOLDER / "orders-0-3-5"
    assert Path(path).parent == folder
    assert disk.synced == [f"{path}.partial", str(folder), str(folder.parent), str(tmp_path)]
    assert values_in(Path(path)) == [b"v3", b"v4"]


def test_records_that_were_kept_are_not_written_over(tmp_path: Path) -> None:
    """A power loss in the middle of the cut brings some of the cut segments back, and it is cut again."""
    disk = Watched()
    first = save_cut(filled(tmp_path / "orders-0", disk, range(10)), "orders-0", 3)
    log = Log.open(tmp_path / "orders-0", LogConfig(), clean=True, disk=disk)
    assert save_cut(log, "orders-0", 3) == first, "the same records are kept once"
    log.truncate_to(3)
    data = bytearray(build_batch([Record(0, 1000, None, b"v9", ())]))
    data[:8] = (9).to_bytes(8, "big")
    log.append(memoryview(data), base_offset=9, last_offset=9, max_timestamp=1000, leader_epoch=0)
    second = save_cut(log, "orders-0", 3)
    assert values_in(Path(first)) == [f"v{n}".encode() for n in range(3, 10)]
    assert (values_in(Path(second)), second != first) == ([b"v9"], True)

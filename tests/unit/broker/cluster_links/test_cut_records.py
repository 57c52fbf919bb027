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


def test_cut_records_survive_a_power_loss(tmp_path: Path) -> None:
    disk = Watched()
    log = Log.open(tmp_path / "orders-0", LogConfig(), clean=True, disk=disk)
    for offset in range(5):
        data = bytearray(build_batch([Record(0, 1000, None, f"v{offset}".encode(), ())]))
        data[:8] = offset.to_bytes(8, "big")
        log.append(memoryview(data), base_offset=offset, last_offset=offset, max_timestamp=1000, leader_epoch=0)
    disk.synced.clear()
    path = save_cut(log, "orders-0", 3)
    folder = tmp_path / CUT_FOLDER / "orders-0-3-5"
    assert Path(path).parent == folder
    assert disk.synced == [path, str(folder), str(folder.parent), str(tmp_path)]
    kept = Path(path).read_bytes()
    values = [
        record.value
        for at, header in iter_batches(kept)
        for record in iter_records(memoryview(kept)[at : at + header.size])
    ]
    assert values == [b"v3", b"v4"]

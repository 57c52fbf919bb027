"""What was aborted is remembered through crashes: entries are cut, found twice, and never take others with them."""

from pathlib import Path

from barnabas.storage.aborted import ENTRY, AbortedTransaction, AbortedTransactions
from barnabas.storage.disk import Disk


def loaded(folder: Path, end_offset: int, disk: Disk | None = None) -> AbortedTransactions:
    found = AbortedTransactions(str(folder), disk=disk or Disk())
    found.load({path.name: path.stat().st_size for path in folder.iterdir()}, end_offset)
    return found


def write(folder: Path, base_offset: int, *ends: int) -> None:
    entries = (ENTRY.pack(0, *AbortedTransaction(7, end - 2, end, end + 1)) for end in ends)
    (folder / f"{base_offset:020d}.txnindex").write_bytes(b"".join(entries))


def test_an_entry_that_is_in_two_files_does_not_take_those_behind_it(tmp_path: Path) -> None:
    write(tmp_path, 0, 10, 45)  # 45 was cut from here, and a power loss brought it back
    write(tmp_path, 20, 45, 64, 78)
    found = loaded(tmp_path, 100)
    assert [first for _, first in found.between(0, 100)] == [8, 43, 62, 76]
    assert len(loaded(tmp_path, 100)) == 4  # nothing was cut


def test_what_is_cut_is_flushed(tmp_path: Path) -> None:
    class Watched(Disk):
        synced: tuple[str, ...] = ()

        def sync(self, fd: int, path: str) -> None:
            self.synced += (path,)

    write(tmp_path, 0, 10, 45)
    disk = Watched()
    assert len(loaded(tmp_path, 40, disk)) == 1
    assert disk.synced == (str(tmp_path / f"{0:020d}.txnindex"),)
    assert (tmp_path / f"{0:020d}.txnindex").stat().st_size == ENTRY.size

"""The disk as a simulated process sees it: storage/disk.py's interface over a `Platter`, with faults to be injected.

Faults: no room (ENOSPC after part of a write), reads or writes that fail (EIO), an fsync that fails (StorageFatal, and
what it was about never reaches the platter), and a crash in the middle of the n-th change from now. A dead
process is refused everything.
"""

import errno
import os
from collections.abc import Callable
from random import Random

from barnabas.sim.platter import File, Folder
from barnabas.sim.process import Crashed, Process
from barnabas.storage.disk import ColdRead, Disk, OpenFile, StorageFatal


class Platter:
    """The disk of one host; outlives its processes."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.root = Folder()
        self.full = False
        self.given_back_bytes = 0  # of a file that kept space: what may be written to a full disk
        self.failing_reads = False
        self.failing_writes = False
        self.failing_syncs = False
        self.lying_syncs = False  # a planted bug: fsync that does nothing
        self.crash_after_changes: int | None = None
        self.open_files = 0
        self.next_fd = 1_000_000
        self.syncs = 0

    def heal(self) -> None:
        self.full = self.failing_reads = self.failing_writes = self.failing_syncs = False
        self.crash_after_changes = None
        self.given_back_bytes = 0

    def lose_power(self) -> None:
        self.root.lose_power(self.random)

    def folder(self, path: str) -> Folder:
        here = self.root
        for part in path.split("/"):
            if part:
                inner = here.live.get(part)
                if not isinstance(inner, Folder):
                    raise FileNotFoundError(errno.ENOENT, "no such folder", path)
                here = inner
        return here

    def find(self, path: str) -> File | Folder | None:
        parent, _, name = path.rpartition("/")
        try:
            return self.folder(parent).live.get(name) if name else self.folder(parent)
        except FileNotFoundError:
            return None


class SimOpenFile(OpenFile):
    __slots__ = ("_close",)

    def __init__(self, fd: int, close: Callable[[int], None]) -> None:
        super().__init__(fd)
        self._close = close

    def __del__(self) -> None:
        if self.fd >= 0:
            self._close(self.fd)
            self.fd = -1


class SimDisk(Disk):
    def __init__(self, platter: Platter, process: Process, now_ms: Callable[[], int]) -> None:
        self._platter = platter
        self._process = process
        self._now_ms = now_ms
        self._files: dict[int, File] = {}

    def belongs_to(self, process: Process) -> bool:
        return self._process is process

    # --- access -----------------------------------------------------------------------------------------------------

    def _alive(self) -> Platter:
        if self._process.dead or self._process.crashed:
            raise Crashed
        return self._platter

    def _changing(self) -> Platter:
        """Before each change of the disk: the moment a planned crash comes."""
        platter = self._alive()
        if platter.crash_after_changes is not None:
            platter.crash_after_changes -= 1
            if platter.crash_after_changes < 0:
                platter.crash_after_changes = None
                self._process.crashed = True
                raise Crashed
        return platter

    def open(self, path: str, *, write: bool = False, create: bool = False) -> OpenFile:
        platter = self._alive()
        parent, _, name = path.rpartition("/")
        folder = platter.folder(parent)
        file = folder.live.get(name)
        if file is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            self._changing()
            file = File()
            file.modified_ms = self._now_ms()
            folder.put(name, file)
        if not isinstance(file, File):
            raise IsADirectoryError(errno.EISDIR, "a folder", path)
        platter.next_fd += 1
        self._files[platter.next_fd] = file
        platter.open_files += 1
        return SimOpenFile(platter.next_fd, self._close)

    def _close(self, fd: int) -> None:
        file = self._files.pop(fd, None)
        if file is not None:
            if file.locked_by == (self, fd):
                file.locked_by = None
            if not self._process.dead:
                self._platter.open_files -= 1

    def lock(self, file: OpenFile) -> None:
        held = self._files[file.fd]
        if held.locked_by is not None:
            raise BlockingIOError(errno.EWOULDBLOCK, "locked")
        held.locked_by = (self, file.fd)

    def no_wait(self) -> Disk:
        return SimNoWait(self)

    # --- bytes ------------------------------------------------------------------------------------------------------

    def pread(self, fd: int, size: int, position: int) -> bytes:
        if self._alive().failing_reads and self._platter.random.random() < 0.2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return bytes(self._files[fd].live[position : position + size])

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:  # type: ignore[override]
        file = self._files[fd]
        platter = self._alive()
        if platter.full and len(data) <= platter.given_back_bytes:
            platter.given_back_bytes -= len(data)
        elif platter.full or platter.failing_writes:
            if platter.full and len(data) > 1 and platter.random.random() < 0.5:
                some = platter.random.randrange(1, len(data))
                file.write(position, bytes(data[:some]))
                return some
            code = errno.ENOSPC if platter.full else errno.EIO
            raise OSError(code, os.strerror(code))
        try:
            self._changing()
        except Crashed:
            if not self._process.dead and platter.random.random() < 0.5:
                file.write(position, bytes(data[: platter.random.randint(0, len(data))]))  # torn by the crash
            raise
        file.write(position, bytes(data))
        file.modified_ms = self._now_ms()
        return len(data)

    def is_cached(self, fd: int, position: int, length: int) -> bool:
        return self._alive().random.random() < 0.9

    def warm(self, fd: int, position: int, length: int) -> None:
        self.pread(fd, length, position)

    def truncate(self, fd: int, size: int) -> None:
        self._changing()
        self._files[fd].truncate(size)

    # --- names ------------------------------------------------------------------------------------------------------

    def _file(self, path: str) -> File:
        found = self._alive().find(path)
        if not isinstance(found, File):
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return found

    def size(self, path: str) -> int:
        return len(self._file(path).live)

    def modified_ms(self, path: str) -> int:
        return self._file(path).modified_ms

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        self._file(path).modified_ms = modified_ms

    def scan(self, directory: str) -> dict[str, int]:
        names = self._alive().folder(directory).live
        return {name: len(file.live) for name, file in names.items() if isinstance(file, File)}

    def folders(self, directory: str) -> list[str]:
        names = self._alive().folder(directory).live
        return sorted(name for name, inner in names.items() if isinstance(inner, Folder))

    def exists(self, path: str) -> bool:
        return self._alive().find(path) is not None

    def make_directory(self, path: str) -> bool:
        platter = self._alive()
        here, made = platter.root, False
        for part in path.split("/"):
            if part:
                inner = here.live.get(part)
                if inner is None:
                    self._changing()
                    inner, made = Folder(), True
                    here.put(part, inner)
                assert isinstance(inner, Folder)
                here = inner
        return made

    def rename(self, old: str, new: str) -> None:
        (parent, _, name), (target, _, new_name) = old.rpartition("/"), new.rpartition("/")
        assert parent == target, "names move within their folder only"
        folder = self._alive().folder(parent)
        if name not in folder.live:
            raise FileNotFoundError(errno.ENOENT, "no such file", old)
        self._changing()
        folder.rename(name, new_name)

    def unlink(self, path: str) -> None:
        parent, _, name = path.rpartition("/")
        if (found := self._alive().find(path)) is not None:
            self._changing()
            self._platter.folder(parent).remove(name)
            if isinstance(found, File):
                self._platter.given_back_bytes += found.reserved_bytes

    def reserve(self, path: str, size: int) -> None:
        if self._alive().full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        parent, _, name = path.rpartition("/")
        file = File()
        file.reserved_bytes = size
        self._platter.folder(parent).put(name, file)

    def space(self, directory: str) -> tuple[int, int]:
        return 1 << 40, 0 if self._platter.full else 1 << 39

    def remove_tree(self, directory: str) -> None:
        if self._alive().find(directory) is None:
            return
        for name in list(self._platter.folder(directory).live):
            inner = f"{directory}/{name}"
            if isinstance(self._platter.find(inner), Folder):
                self.remove_tree(inner)
            else:
                self.unlink(inner)
        self.unlink(directory)

    # --- durability -------------------------------------------------------------------------------------------------

    def _may_sync(self, path: str) -> bool:
        platter = self._changing()
        platter.syncs += 1
        if platter.failing_syncs:
            raise StorageFatal(path, "fsync failed: Input/output error")
        return not platter.lying_syncs

    def sync(self, fd: int, path: str) -> None:
        file = self._files[fd]
        if self._may_sync(path):
            file.sync()

    def sync_path(self, path: str) -> None:
        found = self._alive().find(path)
        if isinstance(found, File) and self._may_sync(path):
            found.sync()

    def sync_directory(self, path: str) -> None:
        found = self._alive().find(path)
        if isinstance(found, Folder) and self._may_sync(path):
            found.sync()

    def can_sync_filesystem(self) -> bool:
        return True

    def sync_filesystem(self, fd: int, path: str) -> None:
        if self._may_sync(path):
            _sync_all(self._platter.root)

    def read_whole(self, path: str) -> bytes | None:
        found = self._alive().find(path)
        return bytes(found.live) if isinstance(found, File) else None


class SimNoWait(SimDisk):
    """The same files from the loop's own thread: now and then the bytes are not in the cache."""

    def __init__(self, disk: SimDisk) -> None:
        self.__dict__ = disk.__dict__

    def pread(self, fd: int, size: int, position: int) -> bytes:
        if self._platter.random.random() < 0.05:
            raise ColdRead
        return super().pread(fd, size, position)


def _sync_all(folder: Folder) -> None:
    folder.sync()
    for inner in folder.live.values():
        if isinstance(inner, Folder):
            _sync_all(inner)
        else:
            inner.sync()

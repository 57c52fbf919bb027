"""The disk interface: storage does every file operation through one `Disk`, for which the simulator has its own.

An `OpenFile` owns its descriptor and closes it when the last reference is gone. Whoever reads (a `Slice` on its way
to a socket, a cleaner, a flush) holds the `OpenFile`; deleting or swapping the segment under it, or evicting it from
the pool, only drops the segment's own reference. So nothing leaks and nothing is used after it was closed.

A failed fsync is fatal: the kernel may have dropped the dirty pages, and a second fsync would report success for data
that is gone. `StorageFatal` says so, and the broker takes the whole directory out of service.
"""

# Plain strings and os calls: this is the layer below pathlib, and the hot path ends here.
# ruff: noqa: PTH102, PTH103, PTH105, PTH108, PTH110, PTH116, PTH120

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import shutil
from collections.abc import Callable
from typing import TypeVar

_libc = ctypes.CDLL(None, use_errno=True)  # Python has fsync and sync, but not the one between them

_PROBE_EVERY_BYTES = 128 * 1024  # the kernel reads ahead in steps of this size
_WARM_CHUNK_BYTES = 1024 * 1024
_byte = bytearray(1)

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
SHORTAGE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})  # of the process or the machine
PASSING = FULL | SHORTAGE  # nothing is wrong with the disk: a write may fail with these and the log goes on


_CACHESTAT_FROM_BYTES = 512 * 1024  # below it a few reads of one byte are cheaper
_SYS_CACHESTAT = 451  # Linux 6.5; the number is the same on every architecture
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_cachestat_range = (ctypes.c_uint64 * 2)()
_cachestat_found = (ctypes.c_uint64 * 5)()
_has_cachestat = True


def _all_cached(fd: int, position: int, length: int) -> bool | None:
    """Whether the page cache holds all of it, by one call of the kernel; None where there is no such call."""
    global _has_cachestat
    if not _has_cachestat:
        return None
    _cachestat_range[0], _cachestat_range[1] = position, length
    if _libc.syscall(_SYS_CACHESTAT, fd, _cachestat_range, _cachestat_found, 0) != 0:
        if ctypes.get_errno() in (errno.ENOSYS, errno.EPERM):  # an older kernel, or a sandbox that forbids it
            _has_cachestat = False
        return None
    first, last = position // _PAGE_BYTES, (position + length - 1) // _PAGE_BYTES
    return _cachestat_found[0] >= last - first + 1


class StorageFatal(Exception):
    """The disk broke a promise; nothing in this directory can be trusted until the node is restarted."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class ColdRead(Exception):
    """These bytes are not in the page cache: reading them would wait for the disk."""


_T = TypeVar("_T")
_ATTEMPTS = 4
_SMALL_FILE_BYTES = 4096
# Nobody asks for their size, and of the files of a small log they are two in three: 20 of 260 us of its opening.
_UNSIZED = (".snapshot", ".metadata")
_give_back: list[Callable[[], bool]] = []  # how idle files are closed when there are no descriptors left (files.py)


def with_descriptor(call: Callable[[], _T]) -> _T:
    """Do what needs a descriptor; when the process has none left, idle segment files are closed first."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return call()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or not any(give() for give in _give_back):
                raise
    return call()


def gives_back(give: Callable[[], bool]) -> None:
    """`give` closes files that can be opened again; True when it did."""
    _give_back.append(give)


class OpenFile:
    """One descriptor, closed with its last reference."""

    __slots__ = ("__weakref__", "fd", "recently_used")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.recently_used = True  # the pool's second chance

    def __del__(self) -> None:
        if self.fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self.fd)
            self.fd = -1


class Disk:
    """The real one. Paths are strings; positions and sizes are bytes."""

    pread = staticmethod(os.pread)
    pwrite = staticmethod(os.pwrite)

    def open(self, path: str, *, write: bool = False, create: bool = False) -> OpenFile:
        flags = (os.O_RDWR if write else os.O_RDONLY) | (os.O_CREAT if create else 0) | os.O_CLOEXEC
        return OpenFile(with_descriptor(lambda: os.open(path, flags, 0o644)))

    def no_wait(self) -> "Disk":
        """The same files, seen through a disk that raises `ColdRead` instead of waiting for a read."""
        return NO_WAIT

    def write_all(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> None:
        """All of it or an OSError, whatever the kernel takes at a time."""
        view = memoryview(data)
        while view.nbytes:
            written = self.pwrite(fd, view, position)
            if written == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            position += written
            view = view[written:]

    def is_cached(self, fd: int, position: int, length: int) -> bool:
        """Can these bytes be read without waiting? A file system that cannot say is treated as memory."""
        end = position + length
        if length >= _CACHESTAT_FROM_BYTES and (cached := _all_cached(fd, position, length)) is not None:
            if not cached:
                return False
            position = end - 1  # what is being read ahead counts as cached, and its end comes last
        try:
            for at in range(position, end, _PROBE_EVERY_BYTES):
                os.preadv(fd, (_byte,), at, os.RWF_NOWAIT)
            os.preadv(fd, (_byte,), end - 1, os.RWF_NOWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def warm(self, fd: int, position: int, length: int) -> None:
        """Bring these bytes into the page cache, however long it takes."""
        end = position + length
        os.posix_fadvise(fd, position, length, os.POSIX_FADV_WILLNEED)
        for at in range(position, end, _WARM_CHUNK_BYTES):
            os.pread(fd, min(_WARM_CHUNK_BYTES, end - at), at)

    def lock(self, file: OpenFile) -> None:
        """Ours alone until the file is closed; an OSError when another process has it."""
        fcntl.flock(file.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def scan(self, directory: str) -> dict[str, int]:
        """Every plain file of a folder with its size; 0 for what `_UNSIZED` names."""
        with with_descriptor(lambda: os.scandir(directory)) as entries:
            return {
                entry.name: 0 if entry.name.endswith(_UNSIZED) else entry.stat().st_size
                for entry in entries
                if entry.is_file(follow_symlinks=False)
            }

    def folders(self, directory: str) -> list[str]:
        with os.scandir(directory) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def make_directory(self, path: str) -> bool:
        """True when it was not there before."""
        try:
            os.mkdir(path)
        except FileExistsError:
            return False
        except FileNotFoundError:
            os.makedirs(path, exist_ok=True)
        return True

    def rename(self, old: str, new: str) -> None:
        os.replace(old, new)

    def unlink(self, path: str) -> None:
        """Gone afterwards, whether or not it was there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def space(self, directory: str) -> tuple[int, int]:
        """Bytes of the file system a folder lies on: all, and those that are free."""
        usage = shutil.disk_usage(directory)
        return usage.total, usage.free

    def reserve(self, path: str, size: int) -> None:
        """A file that takes this much of the disk, or an OSError and no file."""
        file = self.open(path, write=True, create=True)
        try:
            os.posix_fallocate(file.fd, 0, size)
        except OSError:
            self.unlink(path)
            raise

    def remove_tree(self, directory: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(directory)

    def sync(self, fd: int, path: str) -> None:
        """The bytes and the size of this file are on the platter, or the directory is lost to us."""
        try:
            os.fdatasync(fd)
        except OSError as error:
            raise StorageFatal(path, f"fsync failed: {error.strerror}") from error

    def sync_path(self, path: str) -> None:
        """Flush a file we hold no descriptor of; one that is gone needs no flush."""
        with contextlib.suppress(FileNotFoundError):
            file = self.open(path)
            self.sync(file.fd, path)

    def sync_directory(self, path: str) -> None:
        """Names survive a power loss only when their folder was flushed too."""
        with contextlib.suppress(FileNotFoundError):
            fd = with_descriptor(lambda: os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            try:
                os.fsync(fd)
            except OSError as error:
                raise StorageFatal(path, f"fsync of the folder failed: {error.strerror}") from error
            finally:
                os.close(fd)

    def can_sync_filesystem(self) -> bool:
        """syncfs(2) tells of failed writes since Linux 5.8; an older one, or a system without it, is not relied on."""
        release = re.match(r"(\d+)\.(\d+)", os.uname().release)
        if release is None or os.uname().sysname != "Linux" or not hasattr(_libc, "syncfs"):
            return False
        return (int(release[1]), int(release[2])) >= (5, 8)

    def sync_filesystem(self, fd: int, path: str) -> None:
        """One flush for everything on the file system of this file: for a node that closes thousands of logs. Any write
        there that failed since the file was opened is an error."""
        if _libc.syncfs(fd) != 0:
            raise StorageFatal(path, f"syncfs failed: {os.strerror(ctypes.get_errno())}")

    def read_whole(self, path: str) -> bytes | None:
        """The whole of a small file, None when there is none."""
        try:
            fd = with_descriptor(lambda: os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        except FileNotFoundError:
            return None
        try:
            data = os.read(fd, _SMALL_FILE_BYTES)  # less than asked for is all: its size need not be asked for
            return data if len(data) < _SMALL_FILE_BYTES else os.pread(fd, os.fstat(fd).st_size, 0)
        finally:
            os.close(fd)

    def write_new(self, path: str, data: bytes) -> None:
        """A small file under a name that nothing has, not flushed. A crash may leave part of it: for files that tell
        by a CRC whether they are whole, and of which thousands are written at once (a clean stop): no rename."""
        file = self.open(path, write=True, create=True)
        try:
            self.write_all(file.fd, data, 0)
        except OSError:
            self.unlink(path)
            raise

    def write_whole(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Replace a small file in one step: a crash leaves the old or the new one, never half of each."""
        temporary = path + ".tmp"
        file = self.open(temporary, write=True, create=True)
        self.truncate(file.fd, 0)
        self.write_all(file.fd, data, 0)
        if sync:
            self.sync(file.fd, temporary)
        self.rename(temporary, path)
        if sync:
            self.sync_directory(os.path.dirname(path))


class NoWaitDisk(Disk):
    """The same files, but a read that would wait raises `ColdRead`: for the thread of the loop."""

    def pread(self, fd: int, size: int, position: int) -> bytes:
        buffer = bytearray(size)
        try:
            count = os.preadv(fd, (buffer,), position, os.RWF_NOWAIT)
        except BlockingIOError:
            raise ColdRead from None
        except OSError:  # a file system that cannot say; it is treated as memory
            return os.pread(fd, size, position)
        if count < size and position + count < os.fstat(fd).st_size:
            raise ColdRead
        return bytes(memoryview(buffer)[:count])


DISK = Disk()
NO_WAIT = NoWaitDisk()

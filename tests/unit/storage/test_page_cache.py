"""Whether bytes can be read without waiting for the disk: by one call of the kernel where it has it, else by probes.

The pages of a file leave the page cache only when they are written (O_DSYNC here: this folder's conftest takes fsync
away) and the file lies on a disk: where pytest's folder is in memory, the repository's own is taken.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.storage import disk
from barnabas.storage.disk import DISK

MIB = 1 << 20
ROOT = Path(__file__).parents[3]


def _cold(folder: Path) -> int | None:
    """A file of 8 MiB of which nothing is in the page cache; None where files live in memory."""
    name = str(folder / "segment")
    fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_DSYNC, 0o600)
    os.write(fd, os.urandom(8 * MIB))
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)  # read what is asked for, and nothing ahead of it
    assert DISK.is_cached(fd, 100, 8 * MIB - 100)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    if not DISK.is_cached(fd, 0, 100):
        return fd
    os.close(fd)
    return None


@pytest.fixture(params=["cachestat", "probes"])
def cold(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(disk, "_has_cachestat", request.param == "cachestat")
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".page-cache-") as beside:
        for folder in (tmp_path, Path(beside)):
            if (fd := _cold(folder)) is not None:
                yield fd
                os.close(fd)
                return
        pytest.skip("neither the temporary folder nor the repository is on a disk")


def test_what_was_dropped_is_not_cached_until_it_is_read(cold: int) -> None:
    assert not DISK.is_cached(cold, 0, 8 * MIB)
    DISK.warm(cold, 0, 8 * MIB)
    assert DISK.is_cached(cold, 4095, 8 * MIB - 4095)


def test_a_hole_is_noticed(cold: int) -> None:
    os.pread(cold, 3 * MIB, 0)
    os.pread(cold, 4 * MIB, 4 * MIB)
    assert not DISK.is_cached(cold, 0, 8 * MIB)
    assert not DISK.is_cached(cold, 2 * MIB, 4 * MIB)
    assert DISK.is_cached(cold, 0, 3 * MIB)
    assert DISK.is_cached(cold, 4 * MIB, 4 * MIB)


def test_the_kernel_may_keep_what_it_was_told_to_drop(cold: int) -> None:
    """A large folio that reaches beyond the range stays. Whatever the kernel does, the answer is that of a read of
    every page that does not wait."""
    DISK.warm(cold, 0, 8 * MIB)
    os.posix_fadvise(cold, 4 * MIB, MIB, os.POSIX_FADV_DONTNEED)
    said = DISK.is_cached(cold, 4 * MIB, MIB)
    assert said == all(_read_at_once(cold, at) for at in range(4 * MIB, 5 * MIB, 4096))


def _read_at_once(fd: int, at: int) -> bool:
    try:
        os.preadv(fd, (bytearray(1),), at, os.RWF_NOWAIT)
    except BlockingIOError:
        return False
    return True

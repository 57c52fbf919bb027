"""Whether bytes can be read without waiting for the disk: by one call of the kernel where it has it, else by probes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from barnabas.storage import disk
from barnabas.storage.disk import DISK

MIB = 1 << 20


@pytest.mark.parametrize("has_cachestat", [True, False])
def test_what_lies_in_the_page_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_cachestat: bool) -> None:
    monkeypatch.setattr(disk, "_has_cachestat", has_cachestat)
    with (tmp_path / "segment").open("wb+") as file:
        file.write(os.urandom(8 * MIB))
        file.flush()
        fd = file.fileno()
        os.fsync(fd)
        assert DISK.is_cached(fd, 100, 8 * MIB - 100)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        if DISK.is_cached(fd, 0, 100):
            pytest.skip("this file system keeps its files in memory")
        assert not DISK.is_cached(fd, 0, 8 * MIB)
        DISK.warm(fd, 0, 8 * MIB)
        assert DISK.is_cached(fd, 4095, 8 * MIB - 4095)

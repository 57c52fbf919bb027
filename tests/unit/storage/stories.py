"""The vocabulary of the storage tests: small batches, a log that writes them, reading a log back, disks that fail."""

import errno
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from barnabas.storage.config import LogConfig
from barnabas.storage.disk import Disk
from barnabas.storage.log import Log
from barnabas.wire.batch import BatchHeader, iter_batches, read_header
from barnabas.wire.compression import Codec
from barnabas.wire.records import Record, build_batch, iter_records

SMALL = LogConfig(segment_bytes=1_200, index_interval_bytes=200, file_delete_delay_ms=0)


def batch_at(
    offset: int,
    count: int = 1,
    *,
    timestamp: int = 1_000,
    value: bytes = b"value",
    epoch: int = 0,
    codec: Codec = Codec.NONE,
) -> bytearray:
    """`count` records from `offset` on, with keys that repeat and timestamps that rise."""
    records = [Record(offset + i, timestamp + i, b"key-%d" % ((offset + i) % 5), value) for i in range(count)]
    return build_batch(records, leader_epoch=epoch, codec=codec)


def write(log: Log, batch: bytes | bytearray) -> BatchHeader:
    header = read_header(batch)
    log.append(
        batch,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        max_timestamp=header.max_timestamp,
        leader_epoch=header.leader_epoch,
        record_count=header.record_count,
    )
    return header


def write_records(
    log: Log, records: Sequence[tuple[bytes | None, bytes | None]], timestamp: int = 1_000, **batch_options: Any
) -> None:
    """One batch of these (key, value) pairs at the end of the log."""
    start = log.log_end_offset
    write(
        log,
        build_batch(
            [Record(start + i, timestamp, key, value) for i, (key, value) in enumerate(records)], **batch_options
        ),
    )


def fill(log: Log, batches: int, *, count: int = 2, step_ms: int = 10, value: bytes = b"v" * 40) -> list[bytes]:
    """So many batches more; gives their bytes."""
    written = []
    for _ in range(batches):
        batch = batch_at(log.log_end_offset, count, timestamp=1_000 + log.log_end_offset * step_ms, value=value)
        write(log, batch)
        written.append(bytes(batch))
    return written


def read_batches(log: Log, offset: int | None = None, *, max_bytes: int = 700, upper: int | None = None) -> list[bytes]:
    """Every whole batch from `offset` on, fetched as a consumer does."""
    offset = log.log_start_offset if offset is None else offset
    upper = log.log_end_offset if upper is None else upper
    found: list[bytes] = []
    while offset < upper:
        piece = log.read(offset, max_bytes, upper)
        if not piece.verified:
            piece = log.verify_slice(piece)
        data = piece.read()
        if not data:
            break  # a gap to the end
        before = offset
        for position, header in iter_batches(data):
            found.append(data[position : position + header.size])
            offset = header.next_offset
        assert offset > before, "a read that does not move"
    return found


def read_records(log: Log) -> list[Record]:
    start = log.log_start_offset
    return [record for batch in read_batches(log) for record in iter_records(batch) if record.offset >= start]


def copy_of(log: Log, to: Path) -> Path:
    """The folder as a kill would leave it: all that was written, nothing that was not."""
    shutil.copytree(log.directory, to)
    return to


def log_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"))


def descriptors(folder: Path) -> int:
    """Open files below the folder, deleted ones too. What else the process has may be of threads of other tests."""
    found = 0
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile by one of those
            found += folder in each.readlink().parents
    return found


class FullDisk(Disk):
    """Takes `room` bytes of writes, the last of them in part, then says ENOSPC."""

    def __init__(self, room: int, error: int = errno.ENOSPC) -> None:
        self.room = room
        self.error = error

    def pwrite(self, fd: int, data: bytes, position: int) -> int:  # type: ignore[override]
        if self.room <= 0:
            raise OSError(self.error, os.strerror(self.error))
        part = memoryview(data)[: self.room]
        self.room -= len(part)
        return os.pwrite(fd, part, position)


class CrashError(Exception):
    """The process died here."""


class MortalDisk(Disk):
    """Lives for so many changes of names, then every call that changes one raises."""

    def __init__(self) -> None:
        self.lives = 10**9

    def _live(self) -> None:
        if self.lives <= 0:
            raise CrashError
        self.lives -= 1

    def rename(self, old: str, new: str) -> None:
        self._live()
        super().rename(old, new)

    def unlink(self, path: str) -> None:
        self._live()
        super().unlink(path)

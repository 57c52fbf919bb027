"""Files of lines in a folder for each partition, named by the offsets that they have.

    FOLDER/orders/0/00000000000000000000-00000000000000001000.jsonl

The first number is the first offset of the file, the second the one after its last. A file is written under another
name, brought to the disk and renamed, so that it is there whole or not at all; what comes next is known by the names,
and by a file that keeps it in case others take the files away. A partition is written by one worker at a time, which
holds a lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Literal

import msgspec

from barnabas.connect.connectors.payloads import payload
from barnabas.connect.contract import Delivered, Options, Rejected, Sink, Writer
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import read_options
from barnabas.connect.values.formats import BadValue, encode_json

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_NAME = re.compile(r"(\d{20})-(\d{20})(?:\.r(\d+))?\.jsonl(?:\.gz)?")
_STATE = ".next.json"
_LOCK = ".lock"
_UNFINISHED = ".unfinished"


class FilesSinkOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    folder: str
    lines: Literal["value", "record"] = "value"
    compression: Literal["none", "gzip"] = "none"
    max_records: int = 100_000
    max_bytes: int = 64 * 1024 * 1024
    max_s: float = 60.0


class State(msgspec.Struct):
    """What comes next, for which connector. `generation` counts resets: files of before count no more."""

    connector: str
    next: int = -1  # nothing has been written
    generation: int = 0


class FilesSink(Sink):
    def __init__(self, name: str, given: Options) -> None:
        self._name = name
        self._options = options = read_options("files", FilesSinkOptions, given)
        if not Path(options.folder).is_absolute():
            raise BadOption(f"option 'folder' of files: {options.folder!r} does not begin with /")
        if options.max_records < 1 or options.max_bytes < 1 or options.max_s <= 0:
            raise BadOption("files: 'max_records', 'max_bytes' and 'max_s' are above 0")

    def open(self, topic: str, partition: int) -> FilesWriter:
        return FilesWriter(self._options, self._folder(topic, partition))

    def reset(self, topic: str, partition: int, offset: int) -> None:
        folder = self._folder(topic, partition)
        try:
            folder.save(State(self._name, offset, folder.state.generation + 1))
        finally:
            folder.close()

    def _folder(self, topic: str, partition: int) -> PartitionFolder:
        if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
            raise BadOption(f"files: topic {topic[:100]!r} cannot name a folder")
        return PartitionFolder(Path(self._options.folder) / topic / str(partition), self._name)


class PartitionFolder:
    """The folder of one partition, locked."""

    def __init__(self, path: Path, connector: str) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = (path / _LOCK).open("ab")
        except OSError as problem:
            raise self.failed(problem) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.state = self._read_state(connector)
            if self.state.next < 0:
                self.save(self.state)  # it is ours from now on
        except OSError as problem:
            self._lock.close()
            if isinstance(problem, BlockingIOError):
                raise Unavailable(
                    f"another worker writes to {path}", "It is tried again until that one has ended"
                ) from None
            raise self.failed(problem) from None
        except BaseException:
            self._lock.close()
            raise

    def _read_state(self, connector: str) -> State:
        kept = State(connector)
        with contextlib.suppress(FileNotFoundError):
            try:
                kept = msgspec.json.decode((self.path / _STATE).read_bytes(), type=State)
            except msgspec.DecodeError:
                raise Unavailable(f"{self.path / _STATE} is not what was written there", "Delete it") from None
        if kept.connector != connector:
            raise Unavailable(f"connector {kept.connector!r} writes to {self.path}", "Give each a folder of its own")
        for each in self.path.iterdir():
            if each.name.endswith(_UNFINISHED):
                each.unlink()  # of a worker that is no more: nobody else has the lock
            elif (name := _NAME.fullmatch(each.name)) and int(name[3] or 0) == kept.generation:
                kept.next = max(kept.next, int(name[2]))
        return kept

    def save(self, state: State) -> None:
        unfinished = self.path / f"{_STATE}{_UNFINISHED}"
        try:
            with unfinished.open("wb") as file:
                file.write(msgspec.json.encode(state))
                file.flush()
                os.fsync(file.fileno())
            unfinished.rename(self.path / _STATE)
            self.sync()
        except OSError as problem:
            raise self.failed(problem) from None
        self.state = state

    def sync(self) -> None:
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def failed(self, problem: OSError) -> Unavailable:
        return Unavailable(f"{self.path} cannot be written to: {problem.strerror or problem}")

    def close(self) -> None:
        self._lock.close()


class FilesWriter(Writer):
    def __init__(self, options: FilesSinkOptions, folder: PartitionFolder) -> None:
        self._options, self._folder = options, folder
        self._durable = folder.state.next if folder.state.next >= 0 else None
        self._raw: IO[bytes] | None = None
        self._file: IO[bytes] | gzip.GzipFile | None = None
        self._first = self._next = -1
        self._records = self._bytes = 0
        self._began = 0.0

    def next_offset(self) -> int | None:
        return self._durable

    def write(self, records: Sequence[Delivered], next_offset: int) -> Sequence[Rejected]:
        rejected: list[Rejected] = []
        lines: list[bytes] = []
        first = -1
        for record in records:
            try:
                lines.append(self._line(record))
                first = record.place if first < 0 else first
            except BadValue as problem:
                rejected.append(Rejected(record, str(problem)))
        if lines:
            self._append(lines, first)
        self._next = next_offset
        if self._file is None:
            self._durable = next_offset
        elif self._records >= self._options.max_records or self._bytes >= self._options.max_bytes:
            self._finish()
        return rejected

    def _append(self, lines: list[bytes], first: int) -> None:
        try:
            file = self._file if self._file is not None else self._begin(first)
            data = b"\n".join(lines) + b"\n"
            file.write(data)
        except OSError as problem:
            raise self._folder.failed(problem) from None
        self._records += len(lines)
        self._bytes += len(data)

    def _begin(self, first: int) -> IO[bytes] | gzip.GzipFile:
        self._raw = self._file = (self._folder.path / f"{first:020}{_UNFINISHED}").open("wb")
        if self._options.compression == "gzip":
            self._file = gzip.GzipFile(fileobj=self._raw, mode="wb", filename="", mtime=0)
        self._first, self._records, self._bytes, self._began = first, 0, 0, time.monotonic()
        return self._file

    def _line(self, record: Delivered) -> bytes:
        if self._options.lines == "record":
            return encode_json(
                {
                    "topic": record.origin,
                    "partition": record.partition,
                    "offset": record.offset,
                    "timestamp": record.timestamp_ms,
                    "key": _text(record.key),
                    "value": _text(record.value),
                    "headers": [[name, _text(value)] for name, value in record.headers],
                }
            )
        if isinstance(record.value, str | bytes):
            line = payload(record.value)
            if b"\n" in line:
                raise BadValue("a value with a line break in it is no line: use 'lines: record'")
            return line
        return encode_json(record.value)

    def flush(self, now: bool) -> int | None:
        if self._file is not None and (now or time.monotonic() - self._began >= self._options.max_s):
            self._finish()
        return self._durable if self._durable is not None else (self._first if self._file is not None else None)

    def _finish(self) -> None:
        assert self._file is not None and self._raw is not None
        state = msgspec.structs.replace(self._folder.state, next=self._next)
        again = f".r{state.generation}" if state.generation else ""
        end = ".jsonl.gz" if self._options.compression == "gzip" else ".jsonl"
        path = self._folder.path
        try:
            if self._file is not self._raw:
                self._file.close()  # the end of the compressed data
            self._raw.flush()
            os.fsync(self._raw.fileno())
            self._raw.close()
            (path / f"{self._first:020}{_UNFINISHED}").rename(path / f"{self._first:020}-{self._next:020}{again}{end}")
            self._folder.sync()
        except OSError as problem:
            raise self._folder.failed(problem) from None
        self._file = self._raw = None
        self._durable = self._next
        self._folder.save(state)

    def close(self) -> None:
        """What has gathered is given up, and comes again."""
        if self._raw is not None:
            with contextlib.suppress(OSError):
                if self._file is not None:
                    self._file.close()  # a gzip file that is left writes its end into a file that is closed
            with contextlib.suppress(OSError):
                self._raw.close()
                (self._folder.path / f"{self._first:020}{_UNFINISHED}").unlink(missing_ok=True)
        self._folder.close()


def _text(value: object) -> object:
    """Bytes as text where they are."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value  # base64, as bytes are in JSON

"""The S3 source: rows of objects, Parquet or lines of JSON, as records.

A position says which objects were read (listing.py), and of the one that is being read the name, the version and the
number of the next row. By `restore`, records that the sink has written with `metadata` come back with the key, time,
headers and partition that they had.
"""

from __future__ import annotations

import fnmatch
import logging
import re
import time
from collections.abc import Iterator, Sequence
from typing import Literal
from zlib import crc32

import msgspec

from barnabas.connect.connectors.s3.listing import AT_ONCE, ByName, ByTime, Listing
from barnabas.connect.connectors.s3.reading import BadObject, format_of, rows
from barnabas.connect.connectors.s3.rows import Columns
from barnabas.connect.connectors.s3.store import Bucket, Found, StoreOptions
from barnabas.connect.contract import Behind, Chunk, Options, Position, Reader, Record, Source, Value
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import read_options

log = logging.getLogger(__name__)
SPLITS_MAX = 1000
# The sink's names: objects of one partition belong to one split, or their order would be lost.
_OF_PARTITION = re.compile(r"/([^/]+)-\d{20}\.[^/]*$")


class SourceOptions(StoreOptions, kw_only=True, forbid_unknown_fields=True):
    format: Literal["auto", "parquet", "jsonl"] = "auto"
    match: str = "*"
    order: Literal["time", "name"] = "time"
    splits: int = 1
    restore: list[Literal["key", "timestamp", "headers", "partition", "topic"]] = []
    metadata_prefix: str = "_"
    nulls: Literal["keep", "drop"] = "keep"
    bad: Literal["stop", "skip"] = "stop"
    poll_seconds: float = 10
    grace_seconds: float = 600
    remember: int = 1000
    line_bytes_max: int = 16_000_000


class S3Source(Source):
    def __init__(self, name: str, options: Options) -> None:
        self.name = name
        self._options = read_options("s3", SourceOptions, options)
        for each in ("poll_seconds", "grace_seconds", "remember", "line_bytes_max"):
            if getattr(self._options, each) <= 0:
                raise BadOption(f"option {each!r} of s3 must be above 0")
        if not 1 <= self._options.splits <= SPLITS_MAX:
            raise BadOption(f"option 'splits' of s3 must be from 1 to {SPLITS_MAX}")
        self._bucket = Bucket(self._options)

    def splits(self) -> Sequence[str]:
        count = self._options.splits
        return [f"{each}-of-{count}" for each in range(count)]

    def open(self, split: str, position: Position | None) -> Reader:
        number, _, count = split.partition("-of-")
        return S3Reader(self._options, self._bucket, int(number), int(count), position or {})


class _Current(msgspec.Struct):
    """The object that is being read, as a position has it."""

    name: str
    etag: str
    row: int


class S3Reader(Reader):
    def __init__(self, options: SourceOptions, bucket: Bucket, number: int, count: int, position: Position) -> None:
        self._options, self._bucket, self._number, self._count = options, bucket, number, count
        self._columns = Columns(bool(options.restore), options.metadata_prefix)
        self._restore: frozenset[str] = frozenset(options.restore)
        self._listing = self._list(position.get("read", {}))
        self._waiting: list[Found] = []
        self._list_at = 0.0
        self._found: Found | None = None
        self._row = 0
        self._parts: Iterator[list[Value]] = iter(())
        self._rest: list[Value] = []
        if position.get("object") is not None:
            self._resume(msgspec.convert(position["object"], _Current))

    def _list(self, read: Position) -> Listing:
        if self._options.order == "name":
            return ByName(self._bucket, self._wanted, read)
        return ByTime(self._bucket, self._wanted, read, self._options.grace_seconds, self._options.remember)

    def _wanted(self, name: str) -> bool:
        below = name.removeprefix(self._bucket.prefix).lstrip("/")
        if any(part.startswith(("_", ".")) for part in below.split("/")):
            return False  # as everybody who reads folders of data does: _barnabas, _SUCCESS, .crc
        if not fnmatch.fnmatchcase(below, self._options.match):
            return False
        if self._options.format == "auto" and not format_of(name):
            return False
        of_partition = _OF_PARTITION.search(f"/{below}")
        return crc32((of_partition[1] if of_partition else name).encode()) % self._count == self._number

    def _resume(self, current: _Current) -> None:
        found = self._bucket.find(current.name)
        if found is None:
            log.warning("s3: %s was deleted at row %d of it", current.name, current.row)
        elif found.etag != current.etag:
            log.warning("s3: %s was written again at row %d of it, and is read anew", current.name, current.row)
            self._start(found, 0)
        else:
            self._start(found, current.row)

    def read(self, most: int, wait_s: float) -> Chunk | None:
        if self._found is None and not self._next(wait_s):
            return None
        found = self._found
        assert found is not None
        records: list[Record] = []
        try:
            while len(records) < most:
                if not self._rest:
                    self._rest = next(self._parts, [])
                    if not self._rest:
                        self._done(found)
                        break
                taken, self._rest = self._rest[: most - len(records)], self._rest[most - len(records) :]
                records += map(self._record, taken)
                self._row += len(taken)
        except BadObject as problem:
            self._bad(found, problem, bool(records))
        return Chunk(records, self._position())

    def behind(self) -> Behind | None:
        return Behind(bytes=sum(found.size for found in self._waiting))

    def _next(self, wait_s: float) -> bool:
        """Whether there is an object to read."""
        if not self._waiting:
            until = self._list_at - time.monotonic()
            if until > 0:
                time.sleep(min(until, wait_s))
                if until > wait_s:
                    return False
            self._waiting = self._listing.new()
            whole = len(self._waiting) < AT_ONCE
            self._list_at = time.monotonic() + (self._options.poll_seconds if whole else 0)
        if not self._waiting:
            return False
        self._start(self._waiting.pop(0), 0)
        return True

    def _start(self, found: Found, row: int) -> None:
        kind: Literal["parquet", "jsonl"] = "jsonl"
        if self._options.format == "parquet" or (self._options.format == "auto" and format_of(found.name) == "parquet"):
            kind = "parquet"
        self._found, self._row, self._rest = found, row, []
        times = self._columns.timestamp if self._columns.metadata else ""
        self._parts = rows(self._bucket, found, kind, row, self._options.line_bytes_max, times)

    def _done(self, found: Found) -> None:
        self._listing.read(found)
        self._found, self._parts, self._rest = None, iter(()), []

    def _bad(self, found: Found, problem: BadObject, have: bool) -> None:
        if self._options.bad == "skip":
            log.warning("s3: %s: %s; it is skipped", found.name, problem)
            if problem.line:
                self._start(found, problem.row + 1)
            else:
                self._done(found)
        elif have:  # those before it are good; the next read finds it again
            self._start(found, self._row)
        else:
            raise Unavailable(f"s3: {found.name}: {problem}", "Mend or delete it, or set bad: skip")

    def _position(self) -> Position:
        position: Position = {"read": self._listing.position()}
        if self._found is not None:
            current = _Current(self._found.name, self._found.etag, self._row)
            position["object"] = msgspec.to_builtins(current)
        return position

    def _record(self, row: Value) -> Record:
        if not isinstance(row, dict):
            return Record(row)
        if self._options.nulls == "drop":
            row = without_nulls(row)
        return self._columns.record(row, self._restore)


def without_nulls(value: Value) -> Value:
    """Structures without the fields that are null: Parquet has every field in every row."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    return value

"""Rows of an object, read in ranges and a few at a time: never a whole object in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from barnabas.connect.connectors.s3.store import Bucket, Found
from barnabas.connect.contract import Value

ROWS = 1000  # at a time
RANGE_BYTES = 4_000_000  # of a text, one request
CHUNK_BYTES = 1_000_000  # of a text, decompressed
PARQUET_BUFFER = 1_000_000  # of a column
LAYERS = {".gz": "gzip", ".zst": "zstd"}
ENDS = {".parquet": "parquet", ".jsonl": "jsonl", ".json": "jsonl", ".ndjson": "jsonl"}


class BadObject(Exception):
    """What is in an object is not what its name says; `row` is the first that cannot be read. Later rows can be, if
    `line` is true."""

    def __init__(self, reason: str, row: int, line: bool = False) -> None:
        super().__init__(reason)
        self.row, self.line = row, line


def format_of(name: str) -> str:
    """By the end of a name; empty: none that is known."""
    for layer in LAYERS:
        name = name.removesuffix(layer)
    return next((kind for end, kind in ENDS.items() if name.endswith(end)), "")


def rows(
    bucket: Bucket, found: Found, kind: Literal["parquet", "jsonl"], start: int, line_max: int, time_column: str
) -> Iterator[list[Value]]:
    """Rows from number `start` on. Times in `time_column` are milliseconds: they are used as such, and Python's own
    times take longer to make than the rest of a row. Raises BadObject and Unavailable."""
    if not found.size:
        return
    if kind == "parquet":
        yield from _parquet(bucket, found, start, time_column)
    else:
        yield from _lines(bucket, found, start, line_max)


class RangeFile(io.RawIOBase):
    """An object as a file. Each read is a request, of `least` bytes or more, for the version that was listed."""

    def __init__(self, bucket: Bucket, found: Found, least: int) -> None:
        self._bucket, self._found, self._least = bucket, found, least
        self._at = 0
        self._have, self._have_at = b"", 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._found.size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def read(self, size: int = -1) -> bytes:
        size = self._found.size - self._at if size is None or size < 0 else size
        end = min(self._found.size, self._at + size)
        if end <= self._at:
            return b""
        if not self._have_at <= self._at < end <= self._have_at + len(self._have):
            upto = min(self._found.size, max(end, self._at + self._least))
            self._have, self._have_at = self._bucket.range(self._found.name, self._at, upto, self._found.etag), self._at
        part = self._have[self._at - self._have_at : end - self._have_at]
        self._at += len(part)
        return part


def _parquet(bucket: Bucket, found: Found, start: int, time_column: str) -> Iterator[list[Value]]:
    row = start
    try:
        file = pq.ParquetFile(
            pa.PythonFile(RangeFile(bucket, found, 64_000), mode="r"), buffer_size=PARQUET_BUFFER, pre_buffer=False
        )
        groups: list[int] = []
        skip = start
        for group in range(file.metadata.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            if skip >= count and not groups:
                skip -= count
            else:
                groups.append(group)
        for part in file.iter_batches(ROWS, row_groups=groups, use_threads=False) if groups else ():
            taken = _rows(part.slice(skip), time_column) if skip < part.num_rows else []
            skip = max(0, skip - part.num_rows)
            if taken:
                yield taken
                row += len(taken)
    except (pa.ArrowException, pa.ArrowInvalid, OSError, ValueError) as problem:
        raise BadObject(f"it is no Parquet that can be read: {_line(problem)}", row) from None


def _rows(part: pa.RecordBatch, time_column: str) -> list[Value]:
    at = part.schema.get_field_index(time_column)
    if at >= 0 and pa.types.is_timestamp(part.schema.field(at).type):
        times = part.column(at).cast(pa.timestamp("ms", part.schema.field(at).type.tz), safe=False)
        part = part.set_column(at, time_column, times.cast(pa.int64()))
    return part.to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types


def _lines(bucket: Bucket, found: Found, start: int, line_max: int) -> Iterator[list[Value]]:
    taken: list[Value] = []
    for row, line in enumerate(_split(bucket, found, line_max)):
        if row < start:
            continue
        try:
            taken.append(msgspec.json.decode(line))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as problem:
            if taken:
                yield taken
            raise BadObject(f"line {row + 1} is no JSON: {_line(problem)}", row, line=True) from None
        if len(taken) >= ROWS:
            yield taken
            taken = []
    if taken:
        yield taken


def _split(bucket: Bucket, found: Found, line_max: int) -> Iterator[bytes]:
    """Lines that are not empty."""
    stream = pa.PythonFile(RangeFile(bucket, found, RANGE_BYTES), mode="r")
    layer = next((name for end, name in LAYERS.items() if found.name.endswith(end)), "")
    rest, row = b"", 0
    try:
        if layer:
            stream = pa.CompressedInputStream(stream, layer)
        while data := stream.read(CHUNK_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > line_max or any(len(line) > line_max for line in lines):
                raise BadObject(f"a line after row {row} has more than {line_max} bytes", row)
            for line in lines:
                if line.strip():
                    yield line
                    row += 1
    except (pa.ArrowException, OSError, EOFError) as problem:
        raise BadObject(f"it cannot be decompressed: {_line(problem)}", row) from None
    if rest.strip():
        yield rest


def _line(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200]

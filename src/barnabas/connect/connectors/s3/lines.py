"""Rows as lines of JSON, compressed when the object is written."""

from __future__ import annotations

import zlib
from bisect import bisect_left

import pyarrow as pa

from barnabas.connect.connectors.s3.rows import Columns
from barnabas.connect.contract import Delivered, Value

GZIP_LEVEL = 3  # twice as fast as 6, for a tenth more bytes


class JsonRows:
    """Rows of one object, by ascending offset."""

    def __init__(self, columns: Columns, compression: str) -> None:
        self._columns, self._compression = columns, compression
        self._offsets: list[int] = []
        self._lines: list[bytes] = []

    def add(self, record: Delivered, row: dict[str, Value]) -> int:
        """The row's size. Raises one of rows.NOT_JSON."""
        line = self._columns.as_json(record, row)
        self._offsets.append(record.place)
        self._lines.append(line)
        return len(line)

    def split(self, offset: int) -> JsonRows:
        """Keeps what is before `offset`, gives the rest."""
        at, rest = bisect_left(self._offsets, offset), JsonRows(self._columns, self._compression)
        rest._offsets, rest._lines = self._offsets[at:], self._lines[at:]
        del self._offsets[at:], self._lines[at:]
        return rest

    def __len__(self) -> int:
        return len(self._lines)

    def encode(self, batch: str) -> bytes:
        data = b"\n".join([*self._lines, b""])
        if self._compression == "gzip":
            return zlib.compress(data, GZIP_LEVEL, wbits=31)  # with gzip's header
        if self._compression == "zstd":
            return pa.compress(data, codec="zstd", asbytes=True)  # type: ignore[no-any-return]  # pyarrow has no types
        return data

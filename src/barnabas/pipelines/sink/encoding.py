"""Columns to the records of a batch (format v2), many at once and without a Python object for each.

The bytes that stand before and between the columns' own (lengths, deltas) are made with numpy for all records at once,
and Arrow joins the pieces of each record natively. Where a batch is full is known from the lengths, before that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from barnabas.pipelines.sink.columns import Header
from barnabas.wire.batch_writing import NO_HEADERS, headers_of

_BYTES = pa.large_binary()
_LIMITS = tuple(1 << bits for bits in (7, 14, 21, 28, 35, 42, 49, 56, 63))  # a varint has a byte more from each on

Numbers: TypeAlias = npt.NDArray[np.signedinteger]


@dataclass(frozen=True)
class Columns:
    """Rows of one topic, those of a partition together, with the lengths of their parts; -1 for null."""

    keys: pa.Array | None
    values: pa.Array
    headers: pa.Array | None  # as they stand in a record
    key_lengths: Numbers
    value_lengths: Numbers
    fixed: Numbers  # bytes of a record's body that do not depend on its place in a batch

    def __len__(self) -> int:
        return len(self.fixed)

    def bodies(self, deltas: Numbers, stamps: Numbers) -> Numbers:
        """Bytes of each record without the length that stands before it."""
        found: Numbers = self.fixed + _sizes(_zigzag(deltas)) + _sizes(_zigzag(stamps))
        return found


def columns_of(keys: pa.Array | None, values: pa.Array, headers: Sequence[Sequence[Header]] | None) -> Columns:
    written = None if headers is None else pa.array([headers_of(each) for each in headers], _BYTES)
    value_lengths = _lengths(values)
    fixed = np.maximum(value_lengths, 0) + _sizes(_zigzag(value_lengths)) + 1  # 1 for the attributes
    fixed += len(NO_HEADERS) if written is None else _lengths(written)
    key_lengths = np.full(len(values), -1) if keys is None else _lengths(keys)
    fixed += 1 if keys is None else np.maximum(key_lengths, 0) + _sizes(_zigzag(key_lengths))
    return Columns(
        None if keys is None else keys.cast(_BYTES), values.cast(_BYTES), written, key_lengths, value_lengths, fixed
    )


def sizes_of(bodies: Numbers) -> Numbers:
    """Bytes of whole records."""
    found: Numbers = bodies + _sizes(_zigzag(bodies))
    return found


def joined(rows: Columns, bodies: Numbers, deltas: Numbers, stamps: Numbers) -> memoryview:
    """The records, one behind the other; `deltas` and `stamps` are their offset and time within their batch."""
    attributes = np.zeros(len(rows), np.int64)
    before = _varints(bodies, attributes, stamps, deltas, rows.key_lengths)
    between = _varints(rows.value_lengths)
    pieces = [before, between, rows.values, pa.scalar(NO_HEADERS, _BYTES) if rows.headers is None else rows.headers]
    if rows.keys is not None:
        pieces.insert(1, rows.keys)
    separator = pa.scalar(b"", _BYTES)
    found = pc.binary_join_element_wise(*pieces, separator, null_handling="replace", null_replacement="")
    return memoryview(found.buffers()[2])


def _varints(*columns: Numbers) -> pa.Array:
    """The numbers of a row as varints, one behind the other, for all rows."""
    numbers = [_zigzag(each) for each in columns]
    sizes = [_sizes(each) for each in numbers]
    widths = [int(each.max(initial=1)) for each in sizes]
    bytes_of = np.empty((len(numbers[0]), sum(widths)), np.uint8)
    used = np.empty(bytes_of.shape, bool)
    column = 0
    for number, size, width in zip(numbers, sizes, widths, strict=True):
        if width == 1:
            bytes_of[:, column], used[:, column] = number, True
            column += 1
            continue
        for place in range(width):
            more = np.where(size > place + 1, np.uint64(0x80), np.uint64(0))
            bytes_of[:, column] = ((number >> np.uint64(7 * place)) & np.uint64(0x7F)) | more
            used[:, column] = size > place
            column += 1
    ends = np.zeros(len(used) + 1, np.int64)
    np.cumsum(sum(sizes), out=ends[1:])
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(bytes_of[used]))]
    return pa.Array.from_buffers(_BYTES, len(used), buffers)


def _zigzag(numbers: Numbers) -> Numbers:
    found: Numbers = ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)
    return found


def _sizes(numbers: Numbers) -> Numbers:
    sizes = np.ones(len(numbers), np.int64)
    top = int(numbers.max(initial=0))
    for limit in _LIMITS:
        if top < limit:
            break
        sizes += numbers >= np.uint64(limit)
    return sizes


def _lengths(column: pa.Array) -> Numbers:
    return np.asarray(pc.fill_null(pc.binary_length(column), -1)).astype(np.int64)

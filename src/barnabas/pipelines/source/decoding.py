"""Record batches into columns, without a Python object for each field.

A record is a chain of varints: its length, a byte of attributes, two deltas, then key and value each with its length
before it. Where each record begins is found by walking.py; everything else is done for all records at once. Keys and
values are not cut out: an Arrow array is laid over the buffer whose slots are, alternately, a value and the bytes
between two values, and one native `take` of every other slot gathers them.

Measured against librdkafka's consume and aiokafka's native decoder in docs/spark.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from barnabas.client.common.rdkafka import RawHeaders
from barnabas.pipelines.common.arrays import Bytes, Ints, Mask, Words
from barnabas.pipelines.source.walking import two_bytes, walk
from barnabas.wire.batch import HEADER_BYTES, BatchHeader, Buffer
from barnabas.wire.compression import Codec
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import open_payload

NO_BYTES = 0x7FFFFFFF
ROWS = 16_384


@dataclass
class Region:
    """The records of one batch within a buffer."""

    start: int
    end: int
    header: BatchHeader

    @property
    def count(self) -> int:
        return self.header.record_count


@dataclass
class Chunk:
    """One buffer and the batches in it, in the order of their offsets."""

    buffer: Buffer
    regions: list[Region]


@dataclass
class Records:
    """Many records, each column an array; keys and values by where they lie in `buffer`.

    Headers follow the value, unless they are given (`headers`, by librdkafka, which has opened them already).
    """

    buffer: Bytes
    offsets: Ints
    timestamps: Ints
    log_append: Mask
    key_starts: Ints
    key_sizes: Ints
    value_starts: Ints
    value_sizes: Ints
    ends: Ints
    headers: list[RawHeaders | None] | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    def pick(self, rows: slice | Mask | Ints) -> Records:
        """Only these rows: a slice, a mask or indexes."""
        return Records(
            self.buffer,
            self.offsets[rows],
            self.timestamps[rows],
            self.log_append[rows],
            self.key_starts[rows],
            self.key_sizes[rows],
            self.value_starts[rows],
            self.value_sizes[rows],
            self.ends[rows],
            None if self.headers is None else [self.headers[row] for row in np.arange(len(self))[rows]],
        )

    def keys(self) -> pa.Array:
        return gather(self.buffer, self.key_starts, self.key_sizes)

    def values(self) -> pa.Array:
        return gather(self.buffer, self.value_starts, self.value_sizes)


def chunks(records: Buffer, batches: Iterable[tuple[int, BatchHeader]]) -> list[Chunk]:
    """Batches that are not compressed stay where they are; the others are opened one behind the other into a buffer."""
    found: list[Chunk] = []
    opened: list[bytes] = []
    plain = True
    filled = 0
    for position, header in batches:
        is_plain = header.codec is Codec.NONE
        if not found or is_plain is not plain:
            _close(found, opened)
            found.append(Chunk(records, []))
            plain, filled = is_plain, 0
        if is_plain:
            found[-1].regions.append(Region(position + HEADER_BYTES, position + header.size, header))
        else:
            payload = open_payload(memoryview(records)[position : position + header.size], header)
            opened.append(payload)
            found[-1].regions.append(Region(filled, filled + len(payload), header))
            filled += len(payload)
    _close(found, opened)
    return found


def _close(found: list[Chunk], opened: list[bytes]) -> None:
    if opened:
        found[-1].buffer = opened[0] if len(opened) == 1 else b"".join(opened)
        opened.clear()


def decode(chunk: Chunk) -> Iterator[Records]:
    """Every record of the chunk, some thousands at a time: so many fit into a processor's cache with their bytes.

    ProtocolError for whatever is not exactly records.
    """
    data = np.frombuffer(chunk.buffer, np.uint8)
    starts = walk(data, chunk.regions)
    headers = [region.header for region in chunk.regions]
    counts = [header.record_count for header in headers]
    offsets = np.repeat(np.array([each.base_offset for each in headers], np.int64), counts)
    times = np.repeat(np.array([each.base_timestamp for each in headers], np.int64), counts)
    log_append = np.repeat(np.array([each.log_append_time for each in headers], bool), counts)
    append_times = np.repeat(np.array([each.max_timestamp for each in headers], np.int64), counts)
    for begin in range(0, len(starts), ROWS):
        rows = slice(begin, begin + ROWS)
        try:
            records = _fields(data, starts[rows])
        except IndexError:
            raise ProtocolError("a record is cut") from None
        records.offsets = records.offsets + offsets[rows]
        records.log_append = log_append[rows]
        records.timestamps = records.timestamps + times[rows]
        if records.log_append.any():
            records.timestamps = np.where(records.log_append, append_times[rows], records.timestamps)
        yield records


def _fields(data: Bytes, starts: Ints) -> Records:
    """The records that begin here, with offsets and timestamps as deltas."""
    words = two_bytes(data)
    sizes, at = varints(data, words, starts)
    ends = at + sizes
    time_deltas, at = varints(data, words, at + 1)  # a byte of attributes stands before it
    offset_deltas, at = varints(data, words, at)
    key_sizes, key_starts = varints(data, words, at)
    value_sizes, value_starts = varints(data, words, key_starts + np.maximum(key_sizes, 0))
    value_ends = value_starts + np.maximum(value_sizes, 0)
    if key_sizes.min() < -1 or value_sizes.min() < -1 or (value_ends >= ends).any():
        raise ProtocolError("a record's key or value does not fit into it")
    no_times = np.zeros(len(starts), bool)
    return Records(data, offset_deltas, time_deltas, no_times, key_starts, key_sizes, value_starts, value_sizes, ends)


def varints(data: Bytes, words: Words, at: Ints) -> tuple[Ints, Ints]:
    """The zigzag varint at each position, and the position after it. One or two bytes are looked up in a table."""
    values, widths = _varint_tables()
    word = words[at]
    value = values.take(word)
    after = at + widths.take(word)
    if value.min() > _LONGER:
        return value, after
    value = value.astype(np.int64)
    rows = np.flatnonzero(value == _LONGER)
    if len(rows):
        value[rows], after[rows] = _long_varints(data, at[rows])
    return value, after


def _long_varints(data: Bytes, at: Ints) -> tuple[Ints, Ints]:
    """The same for any number of bytes, one byte of all of them after the other."""
    value = np.zeros(len(at), np.uint64)
    after = at.copy()
    rows = np.arange(len(at))
    for shift in range(0, 70, 7):
        byte = data[after[rows]]
        value[rows] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        after[rows] += 1
        rows = rows[byte >= 0x80]
        if not len(rows):
            return (value >> np.uint64(1)).view(np.int64) ^ -(value & np.uint64(1)).view(np.int64), after
    raise ProtocolError("a varint of more than 10 bytes")


_LONGER = -(1 << 31)  # no varint of two bytes has this value


@cache
def _varint_tables() -> tuple[Ints, Ints]:
    """For the two bytes at a varint's beginning, as a little-endian word: its value, and how many bytes it takes."""
    words = np.arange(1 << 16)
    first, second = words & 0xFF, words >> 8
    one = first < 0x80
    raw = np.where(one, first, (first & 0x7F) | (second & 0x7F) << 7)
    value = np.where(one | (second < 0x80), (raw >> 1) ^ -(raw & 1), _LONGER)
    return value.astype(np.int32), np.where(one, 1, 2).astype(np.int8)


def gather(data: Bytes, starts: Ints, sizes: Ints) -> pa.Array:
    """The bytes at these places as one Arrow array; a size of -1 is null."""
    count = len(starts)
    absent = sizes < 0
    if absent.all():
        return pa.nulls(count, pa.binary())
    if starts[-1] + max(int(sizes[-1]), 0) > NO_BYTES:
        raise ProtocolError("more than 2 GiB of records in one answer")
    slots = np.empty(2 * count, np.int32)
    slots[0::2] = starts
    slots[1::2] = starts + np.maximum(sizes, 0)
    laid = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(slots), pa.py_buffer(data)])
    indexes = np.arange(0, 2 * count - 1, 2, dtype=np.int32)
    return laid.take(pa.array(indexes, mask=absent) if absent.any() else pa.array(indexes))

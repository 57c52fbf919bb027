"""Record batches into columns: the same records as the plain reader of `wire.records` finds, or a refusal."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.pipelines.source.decoding import Chunk, Records, Region, chunks, decode
from barnabas.pipelines.source.record_headers import headers_of
from barnabas.wire.batch import HEADER_BYTES, iter_batches, read_header
from barnabas.wire.compression import Codec
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import Record, build_batch, iter_records

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
some_bytes = st.none() | st.binary(max_size=200) | st.just(b"x" * 8500)
some_headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple)


@st.composite
def some_records(draw: Any, start: int = 0) -> list[Record]:
    """Ascending offsets with gaps, times in any order, runs of records of one length and records of any."""
    records: list[Record] = []
    offset = start
    for _ in range(draw(st.integers(1, 6))):
        key, value = draw(some_bytes), draw(some_bytes)
        for _ in range(draw(st.sampled_from([1, 1, 2, 70]))):
            time = draw(st.integers(0, 2**41)) if draw(st.booleans()) else 1_700_000_000_000
            records.append(Record(offset, time, key, value, draw(some_headers) if draw(st.booleans()) else ()))
            offset += draw(st.sampled_from([1, 1, 1, 3, 9000]))
    return records


def opened(buffer: bytes) -> list[Record]:
    """What our decoder makes of these batches, as plain records."""
    found = []
    for chunk in chunks(buffer, iter_batches(buffer)):
        for records in decode(chunk):
            found += as_records(records)
    return found


def as_records(columns: Records) -> list[Record]:
    keys, values = columns.keys().to_pylist(), columns.values().to_pylist()
    headers = [
        tuple((each["key"], each["value"]) for each in row or ()) for row in headers_of(columns, HEADERS).to_pylist()
    ]
    rows = zip(columns.offsets.tolist(), columns.timestamps.tolist(), keys, values, headers, strict=True)
    return [Record(*row) for row in rows]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(some_records(), st.sampled_from(list(Codec)), st.booleans()), min_size=1, max_size=4))
def test_the_columns_hold_what_the_plain_reader_finds(batches: list[tuple[list[Record], Codec, bool]]) -> None:
    buffer = bytearray()
    wanted = []
    offset = 0
    for records, codec, append_time in batches:
        moved = [record._replace(offset=record.offset + offset) for record in records]
        offset = moved[-1].offset + 1
        batch = build_batch(moved, codec=codec, log_append_time_ms=77 if append_time else None)
        wanted += list(iter_records(batch))
        buffer += batch
    assert opened(bytes(buffer)) == wanted


@settings(max_examples=80, deadline=None)
@given(some_records(), st.data())
def test_damaged_bytes_are_refused_or_mean_the_same(records: list[Record], data: Any) -> None:
    batch = build_batch(records)
    for _ in range(data.draw(st.integers(1, 3))):
        batch[data.draw(st.integers(HEADER_BYTES, len(batch) - 1))] = data.draw(st.integers(0, 255))
    try:
        wanted = list(iter_records(bytes(batch)))
    except ProtocolError:
        wanted = None
    try:
        found = opened(bytes(batch))
    except ProtocolError:
        return
    if wanted is not None:
        assert found == wanted


def test_a_batch_that_claims_more_records_than_it_has_is_refused() -> None:
    batch = bytes(build_batch([Record(0, 0, None, b"v")]))
    header = read_header(batch)._replace(record_count=2)
    with pytest.raises(ProtocolError):
        list(decode(Chunk(batch, [Region(HEADER_BYTES, len(batch), header)])))


@pytest.mark.parametrize(("per_batch", "size"), [(1, 100), (40, 100), (40, 9000), (20_000, 100)])
def test_every_gait_finds_every_record(per_batch: int, size: int) -> None:
    """One record a batch, many small batches, and one batch larger than what is decoded at a time."""
    count = max(60, per_batch)
    values = [b"x" * (size + (at % 13 if per_batch != 1 else 0)) for at in range(count)]
    buffer = b"".join(
        bytes(build_batch([Record(at, at, None, values[at]) for at in range(begin, min(count, begin + per_batch))]))
        for begin in range(0, count, per_batch)
    )
    assert [(record.offset, record.value) for record in opened(buffer)] == list(enumerate(values))


def test_rows_can_be_picked_before_anything_is_gathered() -> None:
    batch = bytes(build_batch([Record(at, at, b"k%d" % at, b"v%d" % at) for at in range(10)]))
    (chunk,) = chunks(batch, iter_batches(batch))
    (records,) = decode(chunk)
    picked = records.pick(slice(3, 5))
    assert [(record.offset, record.value) for record in as_records(picked)] == [(3, b"v3"), (4, b"v4")]

"""Batches that are written a record at a time, or many records at once: read back they are the same."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from barnabas.wire.batch import crc_matches, read_header
from barnabas.wire.batch_writing import RECORD_OVERHEAD_MAX, OpenBatch, headers_of
from barnabas.wire.compression import Codec
from barnabas.wire.records import Headers, Record, iter_records

Written = tuple[bytes | None, list[bytes] | bytes | None, Headers, int]

NOW = 1_800_000_000_000
PARTS = st.one_of(st.none(), st.binary(max_size=100))
HEADERS = st.lists(st.tuples(st.text(max_size=5), PARTS), max_size=3).map(tuple)
ALIKE = st.tuples(
    PARTS, st.lists(st.binary(max_size=150), min_size=1, max_size=80), HEADERS, st.integers(-100_000, 10**12)
)
SINGLE = st.tuples(PARTS, PARTS, HEADERS, st.integers(-100_000, 10**12))


@settings(max_examples=100, deadline=None)
@example(written=[(b"k", [bytes(63)] * 70, (), 0), (None, None, (("h", None),), 5), (None, [b""] * 9000, (), 1)])
@given(written=st.lists(st.one_of(ALIKE, SINGLE), min_size=1, max_size=5))
def test_what_is_written_is_read_back(written: list[Written]) -> None:
    batch = OpenBatch(NOW)
    expected: list[Record] = []
    for key, value, headers, after in written:
        before, encoded = batch.size, headers_of(headers)
        values: list[bytes | None] = []
        if isinstance(value, list):
            values += value
            batch.add_alike(key, value, encoded, NOW + after)
        else:
            values.append(value)
            batch.add_records([key], [value], encoded, NOW + after)
        expected += [Record(len(expected) + at, NOW + after, key, each, headers) for at, each in enumerate(values)]
        others = len(key or b"") + len(encoded) + RECORD_OVERHEAD_MAX
        assert batch.size - before <= sum(len(each or b"") + others for each in values), "what producers count on"
    closed = batch.closed(Codec.LZ4, (7, 2), 11, True)
    header = read_header(closed)
    assert crc_matches(closed, 0, len(closed)) and header.size == len(closed)
    assert (header.record_count, header.base_sequence, header.is_transactional) == (len(expected), 11, True)
    assert header.max_timestamp == max(each.timestamp for each in expected)
    assert list(iter_records(closed)) == expected


@settings(max_examples=100, deadline=None)
@given(written=st.lists(SINGLE, min_size=1, max_size=30), alone=st.integers(0, 5))
def test_records_with_times_and_headers_of_their_own(
    written: list[tuple[bytes | None, bytes | None, Headers, int]], alone: int
) -> None:
    batch = OpenBatch(NOW)
    expected = [Record(at, NOW + each[3], *each[:3]) for at, each in enumerate(written)]
    for some in (expected[:alone], expected[alone:]):
        if some:
            before, encoded = batch.size, [headers_of(each.headers) for each in some]
            keys, values = [each.key for each in some], [each.value for each in some]
            batch.add_each(keys, values, encoded, [each.timestamp for each in some])
            parts = sum(len(each or b"") for each in (*keys, *values, *encoded))
            assert batch.size - before <= parts + RECORD_OVERHEAD_MAX * len(some), "what producers count on"
    closed = batch.closed(0, (7, 2), 11, True)
    assert list(iter_records(closed)) == expected
    assert read_header(closed).max_timestamp == max(each.timestamp for each in expected)


@pytest.mark.parametrize("count", [63, 64, 65, 8191, 8192, 8193, 20_000])
def test_offsets_of_every_width(count: int) -> None:
    batch = OpenBatch(NOW)
    batch.add_alike(None, [b"x"] * count, headers_of(()), NOW)
    batch.add_alike(b"key", [b"y"], headers_of(()), NOW + 1)
    found = list(iter_records(batch.closed(0, (-1, -1), -1, False)))
    assert [each.offset for each in found] == list(range(count + 1))
    assert found[-1] == Record(count, NOW + 1, b"key", b"y")


def test_many_with_keys() -> None:
    rows = [(b"key %d" % n if n % 3 else None, b"v" * (n % 200) if n % 5 else None) for n in range(10_000)]
    batch, headers = OpenBatch(NOW), (("h", b"x"),)
    for part in (rows[:50], rows[50:]):
        batch.add_records([key for key, _ in part], [value for _, value in part], headers_of(headers), NOW + 7)
    found = list(iter_records(batch.closed(Codec.LZ4, (1, 1), 0, True)))
    assert found == [Record(at, NOW + 7, key, value, headers) for at, (key, value) in enumerate(rows)]

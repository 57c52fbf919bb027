"""Batches of records made from columns: read back they are the same, and none is larger than it may be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from barnabas.pipelines.sink.encoding import columns_of
from barnabas.pipelines.sink.producer import RecordProducer
from barnabas.wire.batch import crc_matches, iter_batches
from barnabas.wire.records import iter_records

PARTS = st.one_of(st.none(), st.binary(max_size=200), st.integers(100, 40_000).map(bytes))
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.one_of(st.none(), st.binary(max_size=200))), max_size=3)
ROWS = st.lists(st.tuples(PARTS, PARTS, HEADERS), min_size=1, max_size=60)


class Gathering(RecordProducer):
    """Keeps its batches instead of sending them."""

    def _move(self) -> None:
        return None

    def batches(self, partition: int) -> list[bytes]:
        target = self._partitions["t", partition]
        self._close(target)
        return list(target.ready)


def producer(batch_bytes: int = 1_000_000, codec: int = 0) -> Gathering:
    options = SimpleNamespace(batch_bytes=batch_bytes, compression=codec, delivery_timeout_s=1.0)
    cluster: Any = SimpleNamespace(options=options)
    return Gathering(cluster, 7, 2, "id")


def write(into: Gathering, rows: list[Any], spans: list[tuple[int, int, int]], with_keys: bool = True) -> None:
    keys = pa.array([key for key, _, _ in rows], pa.binary()) if with_keys else None
    into.write("t", spans, columns_of(keys, pa.array([row[1] for row in rows], pa.binary()), [row[2] for row in rows]))


def read(batches: list[bytes]) -> list[Any]:
    return [(each.key, each.value, list(each.headers)) for batch in batches for each in iter_records(batch)]


@settings(max_examples=60, deadline=None)
@example(first=[(None, None, [])], second=[(None, bytes(25), [])], cut=0, batch_bytes=100)  # does not fit any more
@given(first=ROWS, second=ROWS, cut=st.integers(0, 60), batch_bytes=st.integers(100, 60_000))
def test_what_is_written_is_read_back(first: list[Any], second: list[Any], cut: int, batch_bytes: int) -> None:
    into = producer(batch_bytes)
    cut = min(cut, len(first) - 1)
    spans = [(0, 0, cut), (3, cut, len(first))] if cut else [(3, 0, len(first))]
    write(into, first, spans)
    write(into, second, [(3, 0, len(second))])  # goes on in the batch that is open
    expected = {3: [*first[cut:], *second]} | ({0: first[:cut]} if cut else {})
    for partition, rows in expected.items():
        batches = into.batches(partition)
        assert read(batches) == rows
        sequence = 0
        for batch in batches:
            [(_, header)] = iter_batches(batch)
            assert crc_matches(batch, 0, len(batch)) and header.size == len(batch)
            assert header.size <= batch_bytes or header.record_count == 1
            assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, sequence)
            assert [each.offset for each in iter_records(batch)] == list(range(header.record_count))
            assert header.is_transactional and header.base_timestamp <= header.max_timestamp
            sequence += header.record_count
    assert into.records == len(first) + len(second)


@pytest.mark.parametrize("codec", range(5))
def test_every_codec_without_keys(codec: int) -> None:
    rows: list[Any] = [(None, b"x" * (number % 300), []) for number in range(5_000)]
    into = producer(codec=codec)
    write(into, rows, [(0, 0, len(rows))], with_keys=False)
    assert read(into.batches(0)) == rows

"""Rows to record batches to leaders. Records gather in one batch for each partition (encoding.py); sending.py sends the
batches. Whoever holds what `prepared` gives ends the transaction."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from barnabas.pipelines.sink.cluster import Cluster
from barnabas.pipelines.sink.encoding import Columns, Numbers, joined, sizes_of
from barnabas.pipelines.sink.prepared import Prepared
from barnabas.pipelines.sink.sending import BatchSender, Partition
from barnabas.wire.batch import HEADER_BYTES
from barnabas.wire.batch_writing import OpenBatch

Span = tuple[int, int, int]  # a partition's number, and its rows: from, to
Part = tuple[Partition, OpenBatch, int, int, int]  # the batch that rows go into, the first one's number in it, from, to


class RecordProducer(BatchSender):
    def __init__(self, cluster: Cluster, producer_id: int, producer_epoch: int, transactional_id: str | None) -> None:
        super().__init__(cluster, producer_id, producer_epoch, transactional_id)
        self.records = 0

    @property
    def prepared(self) -> Prepared:
        assert self._transactional_id is not None
        return Prepared(self._transactional_id, *self._producer)

    # --- in ---------------------------------------------------------------------------------------------------------

    def write(self, topic: str, spans: Sequence[Span], rows: Columns) -> None:
        now_ms = int(time.time() * 1000)
        deltas, stamps = np.arange(len(rows)), np.zeros(len(rows), np.int64)
        targets = [self._partitions.setdefault((topic, number), Partition()) for number, _, _ in spans]
        for target, (_, begin, end) in zip(targets, spans, strict=True):
            if target.filling is not None:
                stamps[begin:end] = now_ms - target.filling.timestamp_ms
                deltas[begin:end] += target.filling.count
            deltas[begin:end] -= begin
        # What goes into a further batch begins there at 0 again, and may turn out a little smaller than this says.
        bodies = rows.bodies(deltas, stamps)
        ends = np.cumsum(sizes_of(bodies))
        parts = [
            part
            for target, (_, begin, end) in zip(targets, spans, strict=True)
            for part in self._planned(target, begin, end, ends, now_ms)
        ]
        if any(first == 0 and deltas[begin] for _, _, first, begin, _ in parts):
            for _, batch, first, begin, end in parts:
                stamps[begin:end] = now_ms - batch.timestamp_ms
                deltas[begin:end] = np.arange(first, first + end - begin)
            bodies = rows.bodies(deltas, stamps)
            ends = np.cumsum(sizes_of(bodies))
        self._take(parts, joined(rows, bodies, deltas, stamps), ends, now_ms)
        self.records += len(rows)
        if self._waiting_bytes:
            self._move()

    def _planned(self, target: Partition, begin: int, end: int, ends: Numbers, now_ms: int) -> Iterator[Part]:
        """Rows of one partition cut into those that still fit into its open batch, and into further ones."""
        batch = target.filling or OpenBatch(now_ms)
        count, size = batch.count, batch.size
        while begin < end:
            before = int(ends[begin - 1]) if begin else 0
            stop = min(end, int(np.searchsorted(ends, before + self._options.batch_bytes - size, "right")))
            if stop <= begin and count:
                batch, count, size = OpenBatch(now_ms), 0, HEADER_BYTES
                continue
            stop = max(stop, begin + 1)  # an empty batch takes any record
            yield target, batch, count, begin, stop
            count, size = count + stop - begin, size + int(ends[stop - 1]) - before
            begin = stop

    def _take(self, parts: Sequence[Part], records: memoryview, ends: Numbers, now_ms: int) -> None:
        for target, batch, _, begin, end in parts:
            if target.filling is not batch:
                self._close(target)
                target.filling = batch
            batch.add(records[int(ends[begin - 1]) if begin else 0 : int(ends[end - 1])], end - begin, now_ms)

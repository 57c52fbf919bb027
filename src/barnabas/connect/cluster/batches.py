"""Record batches of a source's transaction, sent by our own client (pipelines/sink/sending.py)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from barnabas.connect.errors import BadOption, ConnectError, Unavailable
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.cluster import Cluster as Links
from barnabas.pipelines.sink.prepared import Fenced as ProducerFenced
from barnabas.pipelines.sink.prepared import Prepared, Refused, TooOld
from barnabas.pipelines.sink.sending import BatchSender, Partition, Place
from barnabas.wire.batch import (
    CODEC_MASK,
    HEADER,
    MAGIC,
    TRANSACTIONAL_BIT,
    read_header,
    write_crc,
)
from barnabas.wire.batch_writing import RECORD_OVERHEAD_MAX, OpenBatch


class Fenced(ConnectError):
    """Another worker has this partition."""


class RecordsRefused(Unavailable):
    """A topic does not take some of the records, and would not later; others could be written without them."""


@contextmanager
def told() -> Iterator[None]:
    """Errors of the producer as those of the runtime: around everything that writes."""
    try:
        yield
    except ProducerFenced as problem:
        raise Fenced(str(problem)) from None
    except TooOld:
        raise BadOption("the cluster is older than Kafka 4.0: sources need its transactions") from None
    except Refused as problem:
        raise RecordsRefused(str(problem)) from None
    except PipelineError as problem:
        raise Unavailable(str(problem)) from None


class Batches(BatchSender):
    """Of one transaction."""

    def __init__(self, links: Links, prepared: Prepared) -> None:
        super().__init__(links, prepared.producer_id, prepared.producer_epoch, prepared.transactional_id)
        self._sticky: dict[str, int] = {}
        self.placed: dict[Place, list[tuple[int, int]]] = {}  # offsets of batches, and how many records they have

    def sticky(self, topic: str, count: int) -> int:
        """Where records without a key go until a batch is full."""
        found = self._sticky.get(topic)
        if found is None or found >= count:
            found = self._sticky[topic] = random.randrange(count)
        return found

    def add(
        self,
        place: Place,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        headers: bytes,
        timestamp_ms: int,
    ) -> None:
        """Records with the same headers and time."""
        size = sum(len(key) for key in keys if key) + sum(len(value) for value in values if value)
        size += (len(headers) + RECORD_OVERHEAD_MAX) * len(values)
        if size > self._options.batch_bytes and len(values) > 1:
            half = len(values) // 2
            self.add(place, keys[:half], values[:half], headers, timestamp_ms)
            self.add(place, keys[half:], values[half:], headers, timestamp_ms)
            return
        self._open(place, size, timestamp_ms).add_records(keys, values, headers, timestamp_ms)

    def add_each(
        self,
        place: Place,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        headers: Sequence[bytes],
        timestamps_ms: Sequence[int],
    ) -> None:
        """Records with headers and times of their own."""
        size = sum(len(key) for key in keys if key) + sum(len(value) for value in values if value)
        size += sum(map(len, headers)) + RECORD_OVERHEAD_MAX * len(values)
        if size > self._options.batch_bytes and len(values) > 1:
            half = len(values) // 2
            for some in (slice(half), slice(half, None)):
                self.add_each(place, keys[some], values[some], headers[some], timestamps_ms[some])
            return
        self._open(place, size, timestamps_ms[0]).add_each(keys, values, headers, timestamps_ms)

    def add_alike(
        self, place: Place, key: bytes | None, values: Sequence[bytes], headers: bytes, timestamp_ms: int, size: int
    ) -> None:
        """`size`: of the values together, at least."""
        others = len(key or b"") + len(headers) + RECORD_OVERHEAD_MAX
        if size + others * len(values) > self._options.batch_bytes and len(values) > 1:
            half = len(values) // 2
            for some in (values[:half], values[half:]):
                self.add_alike(place, key, some, headers, timestamp_ms, sum(map(len, some)))
            return
        self._open(place, size + others * len(values), timestamp_ms).add_alike(key, values, headers, timestamp_ms)

    def add_whole(self, place: Place, batch: memoryview) -> None:
        """A batch of another cluster under a header of ours: offsets and times in it are relative, so nothing of its
        records changes."""
        partition = self._partitions.get(place)
        if partition is None:
            partition = self._partitions[place] = Partition()
        self._close(partition)
        made, header = bytearray(batch), read_header(batch)
        HEADER.pack_into(
            made, 0, 0, header.batch_length, -1, MAGIC, 0, header.attributes & CODEC_MASK | TRANSACTIONAL_BIT,
            header.last_offset_delta, header.base_timestamp, header.max_timestamp, *self._producer,
            partition.sequence, header.record_count,
        )  # fmt: skip
        write_crc(made)
        partition.sequence = (partition.sequence + header.record_count) & 0x7FFFFFFF
        partition.ready.append(bytes(made))
        self._waiting_bytes += len(made)

    def _written(self, place: Place, batch: bytes, base_offset: int) -> None:
        self.placed.setdefault(place, []).append((base_offset, read_header(batch).record_count))

    def _open(self, place: Place, size: int, timestamp_ms: int) -> OpenBatch:
        """The batch that takes so many bytes more."""
        partition = self._partitions.get(place)
        if partition is None:
            partition = self._partitions[place] = Partition()
        batch = partition.filling
        if batch is not None and batch.size + size > self._options.batch_bytes:
            self._close(partition)
            self._sticky.pop(place[0], None)
            self.send()
            batch = None
        if batch is None:
            batch = partition.filling = OpenBatch(timestamp_ms)
        return batch

    def send(self) -> None:
        if self._waiting_bytes:
            self._move()

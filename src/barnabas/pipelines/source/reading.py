"""What a task does: read one split from the leader of its partition and give Arrow batches.

Offsets may be missing inside a split (compaction, control records, aborted transactions): reading goes on until the
log is past the split's end. An offset that is gone is data loss: an error with failOnDataLoss, else reading goes on
where the log begins now.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from barnabas.pipelines.common.garbage import exempt_imports
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source.arrow import ColumnMaker
from barnabas.pipelines.source.decoding import Records, chunks, decode
from barnabas.pipelines.source.filters import Test, earliest_ms, keep
from barnabas.pipelines.source.leader import PATIENCE_S, OffsetGone, PartitionLeader
from barnabas.pipelines.source.loss import lost
from barnabas.pipelines.source.options import SourceOptions
from barnabas.pipelines.source.planning import Range
from barnabas.pipelines.source.security import is_spoken_here, librdkafka_settings_of
from barnabas.wire.errors import ProtocolError
from barnabas.wire.visible import next_offset, visible_batches

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def read_split(
    split: Range, options: SourceOptions, schema: StructType, tests: tuple[Test, ...] = ()
) -> Iterator[pa.RecordBatch]:
    exempt_imports()
    maker = ColumnMaker(schema, split.topic, split.partition, options.value, options.as_json)
    for records in read_records(split, options, tests):
        if len(records):
            yield maker.batch(records)


def read_records(split: Range, options: SourceOptions, tests: tuple[Test, ...] = ()) -> Iterator[Records]:
    """The records of the split, in pieces; each piece is to be used before the next is asked for."""
    security = librdkafka_settings_of(options.client)
    if is_spoken_here(security):
        return _read_records(split, options, tests, security)
    from barnabas.pipelines.source.rdkafka import read_by_librdkafka

    return (keep(records, tests) for records in read_by_librdkafka(split, options))


def _read_records(
    split: Range, options: SourceOptions, tests: tuple[Test, ...], security: Mapping[str, str]
) -> Iterator[Records]:
    not_before = earliest_ms(tests)
    leader = PartitionLeader(options.bootstrap, split.topic, split.partition, options.read_committed, security)
    offset = split.start
    silent_since: float | None = None
    try:
        while offset < split.end:
            try:
                fetched = leader.fetch(offset)
            except OffsetGone:
                offset = _after_loss(leader, split, offset, options)
                continue
            after = next_offset(fetched.records, offset)
            if after == offset:
                silent_since = _still_silent(silent_since, split, offset, options)
                if silent_since is None:
                    return
                continue
            silent_since = None
            if after < split.end:
                leader.ask_ahead(after)
            batches = visible_batches(fetched.records, fetched.aborted, offset, split.end)
            if not_before is not None:
                batches = ((at, header) for at, header in batches if header.max_timestamp >= not_before)
            for chunk in chunks(fetched.records, batches):
                for records in decode(chunk):
                    yield keep(_within(records, offset, split.end), tests)
            offset = after
    except ProtocolError as error:
        raise PipelineError(f"{split.topic}-{split.partition} near offset {offset}: {error}") from None
    finally:
        leader.close()


def _within(records: Records, start: int, end: int) -> Records:
    """A batch is read whole; the split may begin or end inside it."""
    offsets = records.offsets
    if len(offsets) == 0 or (offsets[0] >= start and offsets[-1] < end):
        return records
    low, high = np.searchsorted(offsets, (start, end))
    return records.pick(slice(low, high))


def _after_loss(leader: PartitionLeader, split: Range, offset: int, options: SourceOptions) -> int:
    earliest = leader.earliest()
    lost(f"{split.topic}-{split.partition} does not hold offset {offset} any more, it begins at {earliest}", options)
    return earliest if earliest > offset else split.end


def _still_silent(since: float | None, split: Range, offset: int, options: SourceOptions) -> float | None:
    """An answer without records before the end: a new leader catches up, or the end was cut off. None: give up."""
    now = time.monotonic()
    if since is None or now - since < PATIENCE_S:
        return since or now
    lost(f"{split.topic}-{split.partition} ends at {offset}, and was planned to be read to {split.end}", options)
    return None

"""Which partition each row goes to: its `partition` where it names one, else by its key, else wherever there is room.

Keys are hashed as every Kafka client does it (murmur2, as Java has it), so a key stays in one partition whoever writes
it. The hash is computed for a whole column at once: keys of equal length are one matrix of bytes, and every step of the
hash is one operation on a column of it. Rows without a key go round the partitions in runs, so that batches are large
and the partitions even.
"""

from __future__ import annotations

import random
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from barnabas.pipelines.common.arrays import Bytes
from barnabas.pipelines.errors import PipelineError

RUN_ROWS = 1_000  # rows without a key that stay together, at least

_SEED = np.uint32(0x9747B28C)
_MULTIPLIER = np.uint32(0x5BD1E995)

Numbers: TypeAlias = npt.NDArray[np.signedinteger]
Hashes: TypeAlias = npt.NDArray[np.uint32]


def murmur2_column(keys: pa.Array) -> Hashes:
    """The hash of every key as an unsigned 32-bit number; 0 for null."""
    if pa.types.is_binary(keys.type):
        keys = keys.cast(pa.large_binary())
    count = len(keys)
    _, offsets_buffer, data_buffer = keys.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[keys.offset : keys.offset + count + 1]
    data = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer is not None else np.zeros(0, np.uint8)
    starts, lengths = offsets[:-1], np.diff(offsets)
    hashes = np.zeros(count, dtype=np.uint32)
    with np.errstate(over="ignore"):
        for length in np.unique(lengths):
            rows = np.nonzero(lengths == length)[0]
            matrix = data[starts[rows][:, None] + np.arange(length)]
            hashes[rows] = _murmur2_matrix(matrix, int(length))
    return hashes


def _murmur2_matrix(matrix: Bytes, length: int) -> Hashes:
    mixed = np.full(len(matrix), _SEED ^ np.uint32(length), dtype=np.uint32)
    whole = length & ~3
    if whole:
        words = np.ascontiguousarray(matrix[:, :whole]).view("<u4")
        for column in range(whole // 4):
            word = words[:, column] * _MULTIPLIER
            word = (word ^ (word >> np.uint32(24))) * _MULTIPLIER
            mixed = (mixed * _MULTIPLIER) ^ word
    if length > whole:
        for place in range(length - whole):
            mixed = mixed ^ (matrix[:, whole + place].astype(np.uint32) << np.uint32(8 * place))
        mixed = mixed * _MULTIPLIER
    mixed = (mixed ^ (mixed >> np.uint32(13))) * _MULTIPLIER
    return mixed ^ (mixed >> np.uint32(15))


class Spread:
    """Remembers where the rows without a key are, topic by topic."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)
        self._turns: dict[str, int] = {}

    def partitions(
        self, topic: str, partition_count: int, rows: int, key: pa.Array | None, partition: pa.Array | None
    ) -> Numbers:
        """A partition for each of `rows` rows; the columns have that length, or are not there."""
        if key is None:
            chosen = self._runs(topic, partition_count, rows)
        else:
            chosen = (murmur2_column(key) & np.uint32(0x7FFFFFFF)).astype(np.int64) % partition_count
            if key.null_count:
                without = np.asarray(pc.is_null(key))
                chosen[without] = self._runs(topic, partition_count, int(without.sum()))
        if partition is not None and partition.null_count < rows:
            named = np.asarray(pc.is_valid(partition))
            given = np.asarray(pc.fill_null(partition, 0))
            wrong = named & ((given < 0) | (given >= partition_count))
            if wrong.any():
                first = int(given[np.nonzero(wrong)[0][0]])
                raise PipelineError(
                    f"a row names partition {first}, but topic {topic} has only {partition_count}, numbered from 0"
                )
            chosen[named] = given[named]
        return chosen

    def _runs(self, topic: str, partition_count: int, rows: int) -> Numbers:
        turn = self._turns.get(topic)
        if turn is None:
            turn = self._random.randrange(partition_count)
        run_rows = max(RUN_ROWS, -(-rows // partition_count))  # one run a partition: nothing has to be put together
        runs = -(-rows // run_rows)
        self._turns[topic] = (turn + runs) % partition_count
        return (turn + np.arange(rows, dtype=np.int64) // run_rows) % partition_count

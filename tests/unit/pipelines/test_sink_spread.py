"""Rows and their partitions: the hash of a column equals that of every client, and rows without a key are spread."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from barnabas.model.partitioning import murmur2, partition_for_key
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.spread import RUN_ROWS, Spread, murmur2_column


def test_the_hash_is_every_clients() -> None:
    dice = random.Random(5)
    keys = [dice.randbytes(dice.randrange(0, 40)) for _ in range(2000)]
    for column in (pa.array(keys, pa.binary()), pa.array(keys, pa.large_binary()), pa.array(keys).slice(7, 900)):
        expected = [murmur2(key) & 0xFFFFFFFF for key in column.to_pylist()]
        assert murmur2_column(column).tolist() == expected


def test_keys_go_where_other_clients_put_them() -> None:
    keys = [f"member-{number}".encode() for number in range(500)]
    chosen = Spread().partitions("t", 7, 500, pa.array(keys, pa.binary()), None)
    assert chosen.tolist() == [partition_for_key(key, 7) for key in keys]


def test_rows_without_a_key_are_even_and_stay_together() -> None:
    spread = Spread(seed=3)
    chosen = np.concatenate([spread.partitions("t", 3, RUN_ROWS * 3, None, None) for _ in range(4)])
    assert Counter(chosen.tolist()) == {0: RUN_ROWS * 4, 1: RUN_ROWS * 4, 2: RUN_ROWS * 4}
    assert (np.diff(chosen) != 0).sum() == 11


@pytest.mark.parametrize("rows", [1, RUN_ROWS, RUN_ROWS + 1, 10_000, 4 * RUN_ROWS + 7])
def test_rows_without_a_key_stand_together_by_partition(rows: int) -> None:
    chosen = Spread(seed=1).partitions("t", 4, rows, None, None)
    runs = 1 + int((chosen[1:] != chosen[:-1]).sum())
    assert runs == len(set(chosen.tolist())) == min(4, -(-rows // RUN_ROWS))


def test_a_partition_that_a_row_names_wins() -> None:
    keys = pa.array([b"a", None, b"c", None], pa.binary())
    named = pa.array([2, None, None, 0], pa.int32())
    chosen = Spread().partitions("t", 3, 4, keys, named).tolist()
    assert chosen[0] == 2 and chosen[3] == 0 and chosen[2] == partition_for_key(b"c", 3)
    with pytest.raises(PipelineError, match="a row names partition 3, but topic t has only 3"):
        Spread().partitions("t", 3, 1, None, pa.array([3], pa.int32()))

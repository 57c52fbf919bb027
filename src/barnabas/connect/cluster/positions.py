"""Where the splits of a source stand: a compacted topic for each source, NAME.positions.

A split belongs to one partition of it, by its name. Whoever owns that partition in the source's group reads the split,
and writes its position in the transaction that has the records. The transactional id is the partition's too: a new
owner fences the one before, whose open transaction is aborted, and then reads the positions. So a position and its
records are never apart, and a worker that was only paused cannot write after another has taken over.
"""

from __future__ import annotations

import zlib

import msgspec

from barnabas.connect.cluster.compacted import read_on, read_table
from barnabas.connect.cluster.connection import Cluster, new_topic
from barnabas.connect.contract import Position
from barnabas.connect.definition.definition import Definition

PARTITIONS = 8  # how many workers can share one source; a topic that is there keeps what it has
_SEGMENT_BYTES = 16 * 1024 * 1024  # only closed segments are compacted, and a new owner reads all of it


def ensure(cluster: Cluster, definition: Definition) -> int:
    """The number of partitions."""
    cluster.ensure_topics(
        [new_topic(definition.positions_topic, PARTITIONS, cleanup_policy="compact", segment_bytes=str(_SEGMENT_BYTES))]
    )
    return len(cluster.partitions_of(definition.positions_topic))


def partition_of(split: str, partitions: int) -> int:
    return zlib.crc32(split.encode()) % partitions


def transactional_id(definition: Definition, partition: int) -> str:
    return f"{definition.group}-{partition}"


def encoded(position: Position) -> bytes:
    return msgspec.json.encode(position)


def read(cluster: Cluster, definition: Definition, partitions: list[int]) -> dict[str, Position]:
    """By split."""
    rows = read_table(cluster, definition.positions_topic, partitions)
    return {key.decode(): msgspec.json.decode(value, type=dict) for key, value in rows.items()}


class Known(msgspec.Struct, frozen=True):
    """The positions of one partition, and the offset to which they were read."""

    positions: dict[str, Position]
    offset: int


def read_since(cluster: Cluster, definition: Definition, partition: int, known: Known | None) -> Known:
    """As of now, from what was known before: whoever reads again and again reads what is new."""
    before = {} if known is None else {split.encode(): encoded(each) for split, each in known.positions.items()}
    read_to = {} if known is None else {partition: known.offset}
    rows, ends = read_on(cluster, definition.positions_topic, [partition], before, read_to)
    return Known({key.decode(): msgspec.json.decode(value, type=dict) for key, value in rows.items()}, ends[partition])

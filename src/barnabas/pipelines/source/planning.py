"""Offset ranges cut into the splits that Spark's tasks read.

One split a partition is what the connector makes, and leaves all cores but one idle on a topic with one partition. Here
a read is cut further, by size, until there are as many splits as cores (or `minPartitions`), as long as each is worth a
task: records are counted by offsets, so gaps of a compacted topic count too. `minPartitions=1` asks for one split a
partition. `maxRecordsPerPartition` is a ceiling for each split and cuts first.

A micro-batch is the other way round: a few records of many partitions, each of which would cost a task. There small
splits that stand beside each other are read by one task (`bundled`), unless the query asked for a number of splits.
`maxPartitions` bundles further: a query that has time leaves the other cores to those that have not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.pipelines.source.bounds import Offsets

WORTH_A_TASK = 20_000  # records; a task costs Spark some 20 ms, in which one core reads about as many
ENOUGH = 5_000  # records, of several partitions together, for a task of a micro-batch


@dataclass(frozen=True)
class Range:
    """The records of one partition from `start` on, up to and without `end`."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


def ranges_between(start: Offsets, end: Mapping[tuple[str, int], int]) -> list[Range]:
    """The ranges that hold something, sorted by topic and partition."""
    found = [Range(topic, part, at, end[topic, part]) for (topic, part), at in start.items() if (topic, part) in end]
    return sorted((each for each in found if each.size > 0), key=lambda each: (each.topic, each.partition))


def split_ranges(
    ranges: list[Range], cores: int, min_partitions: int | None = None, max_records: int | None = None
) -> list[Range]:
    """`ranges` cut so that every core has work; the parts of a range stand one after the other."""
    pieces = ranges
    if max_records is not None:
        pieces = [part for each in pieces for part in _cut(each, -(-each.size // max_records))]
    total = sum(each.size for each in pieces)
    wanted = min_partitions if min_partitions is not None else min(cores, total // WORTH_A_TASK)
    if len(pieces) >= wanted:
        return pieces
    # Each range gets its share of the splits, at least one; what rounding left over goes to the largest pieces.
    shares = [max(1, wanted * each.size // total) for each in pieces]
    while sum(shares) < wanted and any(share < each.size for share, each in zip(shares, pieces, strict=True)):
        largest = max(range(len(pieces)), key=lambda at: pieces[at].size / shares[at])
        shares[largest] += 1
    return [part for each, share in zip(pieces, shares, strict=True) for part in _cut(each, share)]


def bundled(splits: list[Range], at_most: int | None = None) -> list[tuple[Range, ...]]:
    """Splits that stand beside each other, put together until a task has something to do."""
    bundles: list[tuple[Range, ...]] = []
    enough = ENOUGH
    if at_most is not None:
        enough = max(enough, -(-sum(each.size for each in splits) // at_most))
    held = enough
    for each in splits:
        if held >= enough:
            bundles.append(())
            held = 0
        bundles[-1] += (each,)
        held += each.size
    return bundles


def _cut(whole: Range, count: int) -> list[Range]:
    count = max(1, min(count, whole.size))
    cuts = [whole.start + whole.size * at // count for at in range(count + 1)]
    return [Range(whole.topic, whole.partition, cuts[at], cuts[at + 1]) for at in range(count)]

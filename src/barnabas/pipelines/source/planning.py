"""Offset ranges cut into the splits that Spark's tasks read.

One split a partition is what the connector makes. That leaves all cores but one idle on a topic with one partition, and
where partitions differ in size some cores wait for the task with the largest. Here a batch is cut into equal shares
(`equal_shares`), a number that the cores divide, as long as each is worth a task; a share may have records of several
partitions. Records are counted by offsets, so gaps of a compacted topic count too.

A query that asks for a number of splits (`minPartitions`, `maxRecordsPerPartition`) gets splits of one partition each
(`split_ranges`): `minPartitions=1` is one a partition, `maxRecordsPerPartition` is a ceiling and cuts first.

A micro-batch is the other way round: a few records of many partitions, each of which would cost a task. There small
splits that stand beside each other are read by one task (`bundled`), unless the query asked for a number of splits.
`maxPartitions` bundles further: a query that has time leaves the other cores to those that have not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise

from barnabas.pipelines.source.bounds import Offsets

WORTH_A_TASK = 20_000  # records; a task costs Spark some 20 ms, in which one core reads about as many
SLACK = 16  # a share may be larger or smaller by one part in so many, where that leaves a partition whole
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


def equal_shares(ranges: list[Range], cores: int) -> list[tuple[Range, ...]]:
    """`ranges`, in their order, in shares of equal size: at least one a core and, over all, one a range."""
    ends = list(accumulate(each.size for each in ranges))
    if not ends:
        return []
    total = ends[-1]
    count = max(1, min(cores * -(-len(ranges) // cores), total // WORTH_A_TASK))
    cuts = [_unless_near(ends, total * at // count, total // count // SLACK) for at in range(1, count)]
    return [tuple(_between(ranges, ends, low, high)) for low, high in pairwise([0, *cuts, total])]


def _unless_near(ends: list[int], cut: int, slack: int) -> int:
    """`cut`, or the end of a range next to it."""
    at = bisect_left(ends, cut - slack)
    return ends[at] if ends[at] <= cut + slack else cut


def _between(ranges: list[Range], ends: list[int], low: int, high: int) -> Iterator[Range]:
    """From the record number `low` of all ranges together up to `high`."""
    for at in range(bisect_right(ends, low), len(ranges)):
        each, before = ranges[at], ends[at] - ranges[at].size
        if before >= high:
            return
        start, end = max(low - before, 0), min(high - before, each.size)
        yield Range(each.topic, each.partition, each.start + start, each.start + end)


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

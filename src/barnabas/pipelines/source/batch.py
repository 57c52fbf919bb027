"""A batch read: the offsets are looked up once, when Spark plans the query, and every task reads one split, which is
one range of offsets or several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from barnabas.pipelines.errors import reason_first
from barnabas.pipelines.source.bounds import LATEST
from barnabas.pipelines.source.cluster import Cluster
from barnabas.pipelines.source.filters import Test, accept, earliest_ms, narrow, row_tests
from barnabas.pipelines.source.options import SourceOptions
from barnabas.pipelines.source.planning import Range, equal_shares, ranges_between, split_ranges
from barnabas.pipelines.source.reading import read_split

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class BarnabasBatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self.options = options
        self.schema = schema
        self.tests: list[Test] = []

    @reason_first
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        for each in filters:
            test = accept(each)
            if test is None:
                yield each
            else:
                self.tests.append(test)

    @reason_first
    def partitions(self) -> Sequence[InputPartition]:
        options = self.options
        cluster = Cluster(options)
        try:
            ranges = self._ranges(cluster)
        finally:
            cluster.close()
        if options.min_partitions is None and options.max_records_per_partition is None:
            return [InputPartition(share) for share in equal_shares(ranges, options.cores)]
        splits = split_ranges(ranges, options.cores, options.min_partitions, options.max_records_per_partition)
        return [InputPartition((split,)) for split in splits]

    @reason_first
    def read(self, partition: InputPartition) -> Iterator[object]:
        if partition.value is None:  # what Spark makes of no splits at all
            return iter(())
        tests = row_tests(self.tests)
        return chain.from_iterable(read_split(each, self.options, self.schema, tests) for each in partition.value)

    def _ranges(self, cluster: Cluster) -> list[Range]:
        options = self.options
        places = cluster.partitions()
        without_match = LATEST if options.start_at_latest_without_match else None
        starts = cluster.resolve(options.starting, places, "startingOffsets", without_match=without_match)
        ends = cluster.resolve(options.ending, places, "endingOffsets", without_match=LATEST)
        ranges = narrow(ranges_between(starts, ends), self.tests)
        not_before = earliest_ms(self.tests)
        if not_before is None or not ranges:
            return ranges
        found = cluster.at_times({(each.topic, each.partition): max(0, not_before) for each in ranges})
        bounded = []
        for each in ranges:
            first = found[each.topic, each.partition]
            start = each.end if first < 0 else max(each.start, first)
            bounded.append(Range(each.topic, each.partition, start, each.end))
        return [each for each in bounded if each.size > 0]

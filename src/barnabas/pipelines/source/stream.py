"""A streaming read. Spark asks where to begin, how far it may go, and for the splits between; then it says "committed".

Offsets are the JSON of Spark's Kafka connector. This object lives in one process as long as the query runs, except
`read`, which runs in the tasks.

Data is lost when a checkpoint names records that no log holds any more: the partition is gone, it begins after them
(retention), or it ends before them (made anew). With failOnDataLoss that ends the query before anything is skipped;
without, the query goes on with what is left and says so in the log of the driver.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from barnabas.client.errors import BarnabasError, NotAllowed
from barnabas.model.json_values import JsonObject
from barnabas.pipelines.errors import reason_first
from barnabas.pipelines.source.admission import Patience, at_most, waiting
from barnabas.pipelines.source.bounds import LATEST, Offsets, offsets_from_json, offsets_to_json
from barnabas.pipelines.source.cluster import Cluster
from barnabas.pipelines.source.loss import lost
from barnabas.pipelines.source.options import SourceOptions
from barnabas.pipelines.source.planning import bundled, ranges_between, split_ranges
from barnabas.pipelines.source.reading import read_split

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

logger = logging.getLogger(__name__)
SETTLE_S = 2.0  # a leader that has just been made may still say less than its predecessor said
SETTLE_RETRY_S = 0.1


class BarnabasStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self.options = options
        self.schema = schema
        self._cluster: Cluster | None = None
        self._target: Offsets | None = None  # where an available-now query ends
        self._seen: Offsets = {}
        self._committed: Offsets = {}
        self._may_commit = True  # until the cluster says that this user may not
        self._starts: Offsets = {}  # where partitions that came later begin
        self._patience = Patience(options.min_offsets, options.max_trigger_delay_s)

    @property
    def cluster(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self.options)
        return self._cluster

    def __getstate__(self) -> JsonObject:
        """The tasks get a copy, without the connections of the driver."""
        return {**self.__dict__, "_cluster": None}

    # --- offsets -----------------------------------------------------------------------------------------------------

    @reason_first
    def initialOffset(self) -> JsonObject:
        places = self.cluster.partitions()
        without_match = LATEST if self.options.start_at_latest_without_match else None
        found = self.cluster.resolve(self.options.starting, places, "startingOffsets", without_match=without_match)
        return offsets_to_json(found)

    @reason_first
    def latestOffset(self, start: JsonObject, limit: ReadLimit) -> JsonObject:
        begun = offsets_from_json(start)
        self._done_with(begun)
        end = self._latest(begun) if self._target is None else self._within_target(begun)
        gone = [place for place in begun if place not in end]
        for topic, part in gone:
            lost(f"{topic}-{part} is gone", self.options)
        begun = self._with_new(begun, end)
        may_wait = self._target is None and not isinstance(limit, ReadAllAvailable)
        if may_wait and self._patience.holds_back(waiting(begun, end), time.monotonic()):
            return start
        if isinstance(limit, ReadMaxRows):
            end = at_most(begun, end, limit.max_rows)
        return offsets_to_json(end)

    def getDefaultReadLimit(self) -> ReadLimit:
        if self.options.max_offsets is not None:
            return ReadMaxRows(self.options.max_offsets)
        if self.options.min_offsets is not None:
            return ReadMinRows(self.options.min_offsets)
        return ReadAllAvailable()

    @reason_first
    def reportLatestOffset(self) -> JsonObject | None:
        """The true end, also while a query works its way to the end of an older day."""
        if self._target is not None:
            self._seen = self.cluster.latest(self._target)
        return offsets_to_json(self._seen) if self._seen else None

    @reason_first
    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._latest({})

    def _latest(self, begun: Offsets) -> Offsets:
        deadline = time.monotonic() + SETTLE_S
        while True:
            self._seen = self.cluster.latest(self.cluster.partitions(lenient=not self.options.fail_on_data_loss))
            behind = [place for place, offset in self._seen.items() if offset < begun.get(place, 0)]
            if not behind or time.monotonic() > deadline:
                return dict(self._seen)
            time.sleep(SETTLE_RETRY_S)

    def _within_target(self, begun: Offsets) -> Offsets:
        """A query that goes on from a checkpoint may begin behind the target it finds; it is then done at once."""
        assert self._target is not None
        return {place: max(offset, begun.get(place, offset)) for place, offset in self._target.items()}

    # --- work --------------------------------------------------------------------------------------------------------

    @reason_first
    def partitions(self, start: JsonObject, end: JsonObject) -> Sequence[InputPartition]:
        options = self.options
        ends = offsets_from_json(end)
        starts = self._with_new(offsets_from_json(start), ends)
        for (topic, part), offset in ends.items():
            if offset < starts[topic, part]:
                lost(f"{topic}-{part} ends at {offset}, and was read to {starts[topic, part]} before", options)
        ranges = ranges_between(starts, ends)
        begins = self.cluster.earliest([(each.topic, each.partition) for each in ranges])
        for each in ranges:
            if begins[each.topic, each.partition] > each.start:
                told = f"{each.topic}-{each.partition} begins at {begins[each.topic, each.partition]}"
                lost(f"{told}, and records from {each.start} on are wanted", options)
        splits = split_ranges(ranges, options.cores, options.min_partitions, options.max_records_per_partition)
        counted = options.min_partitions is not None or options.max_records_per_partition is not None
        if counted and (options.max_partitions is None or len(splits) <= options.max_partitions):
            return [InputPartition((split,)) for split in splits]
        return [InputPartition(bundle) for bundle in bundled(splits, options.max_partitions)]

    @reason_first
    def read(self, partition: InputPartition) -> Iterator[object]:
        for split in partition.value:
            yield from read_split(split, self.options, self.schema)

    @reason_first
    def commit(self, end: JsonObject) -> None:
        self._done_with(offsets_from_json(end))

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _with_new(self, begun: Offsets, end: Offsets) -> Offsets:
        """`begun`, and the partitions that have come since, from their first record on."""
        added = [place for place in end if place not in begun]
        unknown = [place for place in added if place not in self._starts]
        if unknown:
            for (topic, part), offset in self.cluster.earliest(unknown).items():
                self._starts[topic, part] = offset
                if offset > 0:
                    lost(f"{topic}-{part} is new and begins at {offset}", self.options)
        return begun | {place: self._starts[place] for place in added}

    def _done_with(self, offsets: Offsets) -> None:
        """Let the group show it. Spark calls `commit` only when it begins another batch, and never for the last one;
        but it asks for more from `start` on only when everything before it is done, so that tells it sooner.

        Spark's checkpoint is what a query goes on from; the group is for people. So trouble with it stops nothing.
        """
        if not offsets or offsets == self._committed or not self._may_commit:
            return
        try:
            self.cluster.commit(offsets)
            self._committed = offsets
        except BarnabasError as error:
            self._may_commit = not isinstance(error, NotAllowed)
            logger.warning("%s", error)

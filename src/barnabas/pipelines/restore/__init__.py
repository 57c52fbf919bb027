"""`restore`: a key-value state that was lost, rebuilt from its commit log and checked by its checksum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import Option, Outcome, Pipeline, Record, Topic
from barnabas.pipelines.restore import generator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.framework import RunContext
    from barnabas.pipelines.restore.answer import ShardCheck
    from barnabas.pipelines.restore.checksum import Checksum


class Restore(Pipeline):
    name = "restore"
    summary = "a lost key-value state, back from its commit log"
    later_summary = "the state as it was (at --to, or now) in a SQLite file, its checksum checked"
    reads = (Topic(generator.TOPIC, configs={"cleanup.policy": "compact"}, streamed=False),)
    options = (Option("checksum", "", "what the state's checksum must be, when the log itself carries none"),)

    def later(self, context: RunContext) -> Outcome:
        from pyspark.storagelevel import StorageLevel

        from barnabas.pipelines.common import bulk
        from barnabas.pipelines.restore import files, rebuild

        if context.begin_ms is not None:
            raise PipelineError("restore needs the whole log: leave --from away (--to is the moment to restore)")
        log = context.raw_batch(generator.TOPIC, 0, includeHeaders="true", **bulk.READING)
        newest = rebuild.by_key(rebuild.changes(context.within(log, "timestamp"))).persist(StorageLevel.DISK_ONLY)
        try:
            with bulk.many_parts(context.spark):
                held = rebuild.state(newest)
                shards, total = rebuild.checked(newest), rebuild.whole(held)
            trouble = wrong(shards, total, context.option("checksum").strip().lower())
            place = context.path("state.unverified.db" if trouble else "state.db")
            with bulk.many_parts(context.spark):
                count = files.write_state(_in_order(held), place)
        finally:
            newest.unpersist()
        if trouble:
            raise PipelineError(f"{trouble}. What could be rebuilt is in {place}; do not trust it")
        lines = [f"{count:,} keys rebuilt, checksum {total.text}", _checked_by(shards, context.option("checksum"))]
        return Outcome(lines, {"state": place}, {"keys": count, "shards_checked": len(shards)})

    def generate(self, seed: int, begin_ms: int, rate: float) -> Iterator[Record]:
        return generator.generate(seed, begin_ms, rate)


def _in_order(held: DataFrame) -> Iterator[tuple[bytes, bytes]]:
    """By key, so that each row goes to the end of the file's tree, however large it is; a part at a time in memory."""
    for row in held.select("key", "value").orderBy("key").toLocalIterator(prefetchPartitions=True):
        yield bytes(row["key"]), bytes(row["value"])


def wrong(shards: Sequence[ShardCheck], total: Checksum, wanted: str) -> str:
    """What does not fit, in one line; nothing when all does."""
    for check in shards:
        if not check.whole:
            return (
                f"shard {check.shard} is not whole: its newest record says {check.expected.keys:,} keys and checksum "
                f"{check.expected.text}, the log gives {check.found.keys:,} and {check.found.text}"
            )
    if wanted and wanted != total.text:
        return f"the checksum should be {wanted}, the log gives {total.text}"
    return ""


def _checked_by(shards: Sequence[ShardCheck], wanted: str) -> str:
    if shards:
        return f"checked: all {len(shards)} shards are what their newest record says"
    if wanted:
        return "checked: it is the checksum that was asked for"
    return "NOT checked: the log carries no checksums; compare the one above, or give it with --set checksum=..."


PIPELINE = Restore()

"""`restore`: a key-value state that was lost, rebuilt from its commit log and checked by its checksum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import Option, Outcome, Pipeline, Record, Topic
from barnabas.pipelines.restore import generator

if TYPE_CHECKING:
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
        from barnabas.pipelines.restore import files, rebuild

        if context.begin_ms is not None:
            raise PipelineError("restore needs the whole log: leave --from away (--to is the moment to restore)")
        log = context.raw_batch(generator.TOPIC, includeHeaders="true")
        changed = rebuild.changes(context.within(log, "timestamp"))
        held = rebuild.state(changed).cache()
        try:
            shards, total = rebuild.checked(changed, held), rebuild.whole(held)
            trouble = wrong(shards, total, context.option("checksum").strip().lower())
            place = context.path("state.unverified.db" if trouble else "state.db")
            rows = held.select("key", "value").toLocalIterator(prefetchPartitions=True)
            count = files.write_state(((bytes(row["key"]), bytes(row["value"])) for row in rows), place)
        finally:
            held.unpersist()
        if trouble:
            raise PipelineError(f"{trouble}. What could be rebuilt is in {place}; do not trust it")
        lines = [f"{count:,} keys rebuilt, checksum {total.text}", _checked_by(shards, context.option("checksum"))]
        return Outcome(lines, {"state": place}, {"keys": count, "shards_checked": len(shards)})

    def generate(self, seed: int, begin_ms: int, rate: float) -> Iterator[Record]:
        return generator.generate(seed, begin_ms, rate)


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

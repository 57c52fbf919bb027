"""End-of-day reconciliation: what was streamed against what the log says.

Bars and quoted trades are computed again from the log and held against the newest telling of each in the result topics,
column by column. What may still change is not judged: a bar into which a late trade may still come, and a trade as
young as that, are counted as open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from barnabas.pipelines.common import page

SHOWN = 20
ENOUGH_MINUTES = 3  # a bar of a minute, the half minute in which a late trade may amend it, and the start


@dataclass(frozen=True, slots=True)
class Comparison:
    """Counts, and some of what differs: key, what the log says, what was streamed (None: not there)."""

    what: str
    equal: int
    different: int
    missing: int
    unknown: int
    still_open: int
    examples: Sequence[tuple[str, str | None, str | None]]

    @property
    def agrees(self) -> bool:
        return not (self.different or self.missing or self.unknown)

    @property
    def is_empty(self) -> bool:
        """Nothing was judged, so nothing can be said."""
        return self.agrees and not self.equal

    def line(self) -> str:
        if self.is_empty:
            return (
                f"{self.what}: nothing to compare yet, {self.still_open:,} still open: a late report may change them."
                f" Let --now run for {ENOUGH_MINUTES} minutes first"
            )
        verdict = "all agree" if self.agrees else "THEY DO NOT AGREE"
        return (
            f"{self.what}: {verdict}: {self.equal:,} equal, {self.different:,} different, "
            f"{self.missing:,} not streamed, {self.unknown:,} only streamed, {self.still_open:,} still open"
        )


def newest(topic: DataFrame, schema: str) -> DataFrame:
    """The last telling under each key of a result topic (its records as they are), in the columns of the schema."""
    last = topic.groupBy("key").agg(f.max_by("value", "offset").alias("value"))
    return last.select(f.from_json(f.col("value").cast("string"), schema).alias("row")).select("row.*")


def compared(
    what: str, recomputed: DataFrame, streamed: DataFrame, key: Sequence[str], settled: str | None = None
) -> Comparison:
    """Both in the same columns. `settled` is an SQL condition: rows of the log that fail it are still open."""
    columns = recomputed.columns
    ours = recomputed.select(*key, f.to_json(f.struct(*columns)).alias("ours"))
    theirs = streamed.select(*columns).select(*key, f.to_json(f.struct(*columns)).alias("theirs"))
    fixed = f.expr(settled) if settled is not None else f.lit(True)
    state = (
        f.when(~fixed, "still_open")
        .when(f.col("theirs").isNull(), "missing")
        .when(f.col("ours").isNull(), "unknown")
        .when(f.col("ours") == f.col("theirs"), "equal")
        .otherwise("different")
    )
    both = ours.join(theirs, list(key), "full").withColumn("state", state).cache()
    try:
        counts = {row["state"]: row["count"] for row in both.groupBy("state").count().collect()}
        wrong = both.where(f.col("state").isin("different", "missing", "unknown"))
        shown = (
            wrong.select(f.concat_ws(" ", *key).alias("key"), "ours", "theirs").orderBy("key").limit(SHOWN).collect()
        )
    finally:
        both.unpersist()
    numbers = {name: counts.get(name, 0) for name in ("equal", "different", "missing", "unknown", "still_open")}
    return Comparison(what, examples=[(row["key"], row["ours"], row["theirs"]) for row in shown], **numbers)


def report(comparisons: Sequence[Comparison]) -> str:
    names = ("", "equal", "different", "not streamed", "only streamed", "still open", "verdict")
    rows = [
        [
            each.what,
            *[f"{count:,}" for count in (each.equal, each.different, each.missing, each.unknown, each.still_open)],
            "nothing to compare yet"
            if each.is_empty
            else page.good_or_bad("agrees" if each.agrees else "does not agree", each.agrees),
        ]
        for each in comparisons
    ]
    pieces = [page.card(page.table(names, rows))]
    for each in comparisons:
        if each.examples:
            cells = [[key, ours or "-", theirs or "-"] for key, ours, theirs in each.examples]
            pieces += [page.heading(f"{each.what} that differ"), page.card(page.table(("", "log", "streamed"), cells))]
    return page.page("Reconciliation", "What was streamed, against the same computed again from the log.", pieces)

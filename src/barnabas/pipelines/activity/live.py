"""Which jobs to recommend, in milliseconds: the same pairs as matching.py, by one aggregation instead of a join.

Spark's Real-Time Mode hands each record through a query as it comes, but takes no join of two streams and no Python.
An aggregation it takes: it reads the state of a group, merges one row into it, writes it back and gives the row out,
once for each row. So the state of a group is what has been seen there, and `last` is the row that just came.

Interests and jobs meet under a `call` (a field in a city, or a company) in one of two kinds of group:

- `jobs` keeps the jobs of a slice of time as long as the window. An interest looks into the slices that its window
  touches, and finds the jobs that came before it.
- `interests` keeps the interests of a slice of seconds. A job looks into the slices from which interests may still
  want it, and finds those that came before it.

Both are sent first to where they are kept and then to where they look. As a task's rows keep their order, and all
groups are in one partition, at least one of the two sees the other: no pair is missed, whichever comes first. Both may
see each other, and a record that is read again after a crash finds its pairs again, so a pair may be told more than
once; its `id` says so. A group's key has the event time `until` which somebody may look there, and Spark forgets it
when the watermark has passed that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines.activity import matching
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.common import lateness

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

JOBS_SIDE, INTERESTS_SIDE = "jobs", "interests"
PARTITIONS = 1  # with more, the two groups of a pair would be in different tasks, and their order would not be known
LEAST_SLICE_MS, SLICES = 10_000, 30  # so many slices of interests does a job look into, a few more or less
# A job is sent to the slices of interests that may have been read before it: those up to the moment at which it is
# read, plus this, for clocks that differ and for rows that wait in front of the shuffle.
AHEAD_MS = 40_000
# The clock, asked with each row. `current_timestamp` is a constant of the batch: with it Spark would compile the query
# anew for every batch.
_CLOCK = "reflect('java.lang.System', 'currentTimeMillis')"
_WATERMARK_METADATA = "spark.watermarkDelayMs"  # by which Spark knows a column of event time


def recommend_live(searches: DataFrame, views: DataFrame, jobs: DataFrame, rules: Rules, since_ms: int) -> DataFrame:
    """The columns of `matching.recommend`, for the interests that were sent at `since_ms` or later."""
    from pyspark.sql import functions as f

    since = f.col("_timestamp") >= f.timestamp_millis(f.lit(since_ms))
    searches, views = (
        matching.in_time(frame.where(since), rules, of) for frame, of in ((searches, "searches"), (views, "views"))
    )
    interests = matching.interests(searches, views)
    offers = matching.offers(matching.in_time(jobs, rules, "jobs"), "_timestamp")
    rows = _asking(interests, rules).unionByName(_offering(offers, rules, since_ms))
    return _pairs(_met(rows), rules)


def _asking(interests: DataFrame, rules: Rules) -> DataFrame:
    from pyspark.sql import functions as f

    at_ms = f.unix_millis("time")
    looks = f.sequence(
        _slice(at_ms - rules.window_ms, rules.window_ms), _slice(at_ms + rules.after_ms, rules.window_ms)
    )
    kept = f.array(_place(INTERESTS_SIDE, _slice(at_ms, slice_ms(rules)), rules))
    asked = f.struct("because", "id", "member", "about", "time")
    return _placed(
        interests.select(
            "call", asked.alias("asked"), f.lit(None).cast(OFFER).alias("offer"), "time", at_ms.alias("at")
        ),
        f.concat(kept, f.transform(looks, lambda number: _place(JOBS_SIDE, number, rules))),
        rules,
    )


def _offering(offers: DataFrame, rules: Rules, since_ms: int) -> DataFrame:
    from pyspark.sql import functions as f

    posted_ms, length = f.unix_millis("posted"), slice_ms(rules)
    read_ms = f.greatest(f.unix_millis("_timestamp"), f.expr(_CLOCK).cast("bigint")) + AHEAD_MS
    first = _slice(f.greatest(posted_ms - rules.after_ms, f.lit(since_ms - rules.late_ms)), length)
    last = _slice(f.least(posted_ms + rules.window_ms, read_ms), length)
    looks = f.when(first <= last, f.sequence(first, f.greatest(first, last))).otherwise(f.array().cast("array<bigint>"))
    kept = f.array(_place(JOBS_SIDE, _slice(posted_ms, rules.window_ms), rules))
    offer = f.struct("job", "title", "company", "city", "posted")
    return _placed(
        offers.select(
            f.col("offered_call").alias("call"), f.lit(None).cast(ASKED).alias("asked"), offer.alias("offer"),
            "_timestamp", "posted",
        ),
        f.concat(kept, f.transform(looks, lambda number: _place(INTERESTS_SIDE, number, rules))),
        rules,
    )  # fmt: skip


OFFER = "struct<job:string,title:string,company:string,city:string,posted:timestamp>"
ASKED = "struct<because:string,id:string,member:bigint,about:string,time:timestamp>"


def slice_ms(rules: Rules) -> int:
    """How long a slice of interests is. A job looks into about as many as there are in `after`; an interest copies
    those that came before it in its slice."""
    return max(LEAST_SLICE_MS, rules.after_ms // SLICES)


def _slice(at_ms: Column, length_ms: int) -> Column:
    from pyspark.sql import functions as f

    return f.floor(at_ms / f.lit(length_ms)).cast("bigint")


def _place(side: str, number: Column, rules: Rules) -> Column:
    """A group, and until when somebody may look into it."""
    from pyspark.sql import functions as f

    length, longer = (rules.window_ms, rules.window_ms) if side == JOBS_SIDE else (slice_ms(rules), rules.after_ms)
    until = f.timestamp_millis((number + 1) * length + longer)
    return f.struct(f.lit(side).alias("side"), until.alias("until"))


def _placed(rows: DataFrame, places: Column, rules: Rules) -> DataFrame:
    from pyspark.sql import functions as f

    exploded = rows.select("call", "asked", "offer", f.explode(places).alias("place"))
    event_time = {_WATERMARK_METADATA: lateness.patience_ms(rules.late_ms)}
    until = f.col("place.until").alias("until", metadata=event_time)
    return exploded.select("call", f.col("place.side").alias("side"), until, "asked", "offer")


def _met(rows: DataFrame) -> DataFrame:
    """After each row: what came, and what is kept in its group."""
    from pyspark.sql import functions as f

    def kept(column: str, side: str) -> Column:
        return f.when(f.col("side") == side, f.col(column))

    return rows.groupBy("call", "side", "until").agg(
        f.last("asked").alias("asked"),
        f.last("offer").alias("offer"),
        f.collect_set(kept("offer", JOBS_SIDE)).alias("offers"),  # a job that was sent twice is one job
        f.collect_list(kept("asked", INTERESTS_SIDE)).alias("interests"),
    )


def _pairs(met: DataFrame, rules: Rules) -> DataFrame:
    from pyspark.sql import functions as f

    asks = (f.col("side") == JOBS_SIDE) & f.col("asked").isNotNull()
    offered = (f.col("side") == INTERESTS_SIDE) & f.col("offer").isNotNull()
    by_interest = f.transform("offers", lambda offer: f.struct(f.col("asked").alias("asked"), offer.alias("offer")))
    by_job = f.transform("interests", lambda asked: f.struct(asked.alias("asked"), f.col("offer").alias("offer")))
    found = f.explode(f.when(asks, by_interest).when(offered, by_job)).alias("pair")
    pairs = met.select(found).select("pair.asked.*", "pair.offer.*").where(matching.within(rules))
    return matching.shown(pairs, rules)

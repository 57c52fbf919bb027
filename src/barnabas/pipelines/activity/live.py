"""Which jobs to recommend, in milliseconds: the same pairs as matching.py, by one aggregation instead of a join.

Spark's Real-Time Mode hands each record through a query as it comes, but takes no join of two streams and no Python.
An aggregation it takes: it reads the state of a group, merges one row into it, writes it back and gives the row out,
once for each row. So the state of a group is what has been seen there, and `last` is the row that just came.

Interests and jobs meet under a `call` (a field in a city, or a company) in one of two kinds of group:

- `jobs` is for the interests of one stretch of time as long as the window, and keeps every job that one of them may
  want. An interest looks into the one stretch that it lies in, and finds the jobs that came before it.
- `interests` keeps the interests of a slice of seconds. A job looks into the slices from which interests may still
  want it, and finds those that came before it. With each interest all of its slice is read and written again, so it is
  short, and an interest in it is one text: as a structure it took ten times the CPU.

Both are sent first to where they are kept and then to where they look. As a task's rows keep their order, and all
groups are in one partition, at least one of the two sees the other: no pair is missed, whichever comes first. Both may
see each other, and a record that is read again after a crash finds its pairs again, so a pair may be told more than
once; its `id` says so. A group's key has the event time `until` which somebody may look there, and Spark forgets it
when the watermark has passed that.

What was sent before `since_ms` is history, and a batch tells its pairs (framework/backlog.py). Its interests are only
kept, for the jobs that come; its jobs are kept for the interests that come, and look for those that were read before
them.
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
LEAST_SLICE_MS, SLICES = 5_000, 120  # so many slices of interests does a job look into, a few more or less
# A job is sent to the slices of interests that may have been read before it: those up to the moment at which it is
# read, plus this, for clocks that differ and for rows that wait in front of the shuffle.
AHEAD_MS = 40_000
# The clock, asked with each row. `current_timestamp` is a constant of the batch: with it Spark would compile the query
# anew for every batch.
_CLOCK = "reflect('java.lang.System', 'currentTimeMillis')"


def recommend_live(searches: DataFrame, views: DataFrame, jobs: DataFrame, rules: Rules, since_ms: int) -> DataFrame:
    """The columns of `matching.recommend`, for all pairs of which one was sent at `since_ms` or later."""
    searches = matching.in_time(searches, rules, "searches")
    interests = matching.interests(searches, matching.in_time(views, rules, "views"), "_timestamp")
    offers = matching.offers(matching.in_time(jobs, rules, "jobs"), "_timestamp")
    rows = _asking(interests, rules, since_ms).unionByName(_offering(offers, rules, since_ms))
    return _pairs(_met(rows), rules)


def _asking(interests: DataFrame, rules: Rules, since_ms: int) -> DataFrame:
    from pyspark.sql import functions as f

    at_ms = f.unix_millis("time")
    kept = _place(INTERESTS_SIDE, _slice(at_ms, slice_ms(rules)), rules)
    looks = _place(JOBS_SIDE, _slice(at_ms, rules.window_ms), rules)
    is_new = _sent_since(since_ms)
    asked = f.struct("because", "id", "member", "about", "time", is_new.alias("asked_since"))
    return _placed(
        interests.select("call", "_timestamp", asked.alias("asked"), f.lit(None).cast(OFFER).alias("offer"), "time"),
        f.when(is_new, f.array(kept, looks)).otherwise(f.array(kept)),
        rules,
    )


def _offering(offers: DataFrame, rules: Rules, since_ms: int) -> DataFrame:
    from pyspark.sql import functions as f

    posted_ms, length = f.unix_millis("posted"), slice_ms(rules)
    wanted = f.sequence(
        _slice(posted_ms - rules.after_ms, rules.window_ms), _slice(posted_ms + rules.window_ms, rules.window_ms)
    )
    earliest, is_new = posted_ms - rules.after_ms, _sent_since(since_ms)
    earliest = f.when(is_new, earliest).otherwise(f.greatest(earliest, f.lit(since_ms - rules.late_ms)))
    read_ms = f.greatest(f.unix_millis("_timestamp"), f.expr(_CLOCK).cast("bigint")) + AHEAD_MS
    first, last = _slice(earliest, length), _slice(f.least(posted_ms + rules.window_ms, read_ms), length)
    looks = f.when(first <= last, f.sequence(first, f.greatest(first, last))).otherwise(f.array().cast("array<bigint>"))
    offer = f.struct("job", "title", "company", "city", "posted", is_new.alias("offered_since"))
    return _placed(
        offers.select(
            f.col("offered_call").alias("call"), f.lit(None).cast(ASKED).alias("asked"), offer.alias("offer"),
            "_timestamp", "posted",
        ),
        f.concat(
            f.transform(wanted, lambda number: _place(JOBS_SIDE, number, rules)),
            f.transform(looks, lambda number: _place(INTERESTS_SIDE, number, rules)),
        ),
        rules,
    )  # fmt: skip


def _sent_since(since_ms: int) -> Column:
    from pyspark.sql import functions as f

    return f.unix_millis("_timestamp") >= f.lit(since_ms)


OFFER = "struct<job:string,title:string,company:string,city:string,posted:timestamp,offered_since:boolean>"
ASKED = "struct<because:string,id:string,member:bigint,about:string,time:timestamp,asked_since:boolean>"


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

    length, longer = (rules.window_ms, 0) if side == JOBS_SIDE else (slice_ms(rules), rules.after_ms)
    until = f.timestamp_millis((number + 1) * length + longer)
    return f.struct(f.lit(side).alias("side"), until.alias("until"))


def _placed(rows: DataFrame, places: Column, rules: Rules) -> DataFrame:
    from pyspark.sql import functions as f

    exploded = rows.select("call", "asked", "offer", f.explode(places).alias("place"))
    until = lateness.as_event_time(f.col("place.until"), rules.late_ms, "until")
    return exploded.select("call", f.col("place.side").alias("side"), until, "asked", "offer")


def _met(rows: DataFrame) -> DataFrame:
    """After each row: what came, and what is kept in its group."""
    from pyspark.sql import functions as f

    def kept(side: str, value: Column) -> Column:
        return f.when(f.col("side") == side, value)

    return rows.groupBy("call", "side", "until").agg(
        f.last("asked").alias("asked"),
        f.last("offer").alias("offer"),
        f.collect_set(kept(JOBS_SIDE, f.col("offer"))).alias("offers"),  # a job that was sent twice is one job
        f.collect_list(kept(INTERESTS_SIDE, _as_text())).alias("interests"),
    )


def _as_text() -> Column:
    """An interest as it is kept. The length of its id is in it, so that the id and what follows may be any text."""
    from pyspark.sql import functions as f

    asked = f.col("asked")
    words = (
        asked["because"], asked["member"], f.unix_micros(asked["time"]), asked["asked_since"], f.length(asked["id"]),
    )  # fmt: skip
    return f.concat(
        *[part for word in words for part in (word.cast("string"), f.lit("|"))], asked["id"], asked["about"]
    )


def _from_texts(texts: Column) -> Column:
    """The other way round, for an array of them. By two steps, so that each text is split once."""
    from pyspark.sql import functions as f

    def interest(parts: Column) -> Column:
        length, rest = parts[4].cast("int"), parts[5]
        return f.struct(
            parts[0].alias("because"),
            f.substring(rest, f.lit(1), length).alias("id"),
            parts[1].cast("bigint").alias("member"),
            f.substring(rest, length + 1, f.length(rest)).alias("about"),
            f.timestamp_micros(parts[2].cast("bigint")).alias("time"),
            parts[3].cast("boolean").alias("asked_since"),
        )

    return f.transform(f.transform(texts, lambda text: f.split(text, r"\|", 6)), interest)


def _pairs(met: DataFrame, rules: Rules) -> DataFrame:
    from pyspark.sql import functions as f

    asks = (f.col("side") == JOBS_SIDE) & f.col("asked").isNotNull()
    offered = (f.col("side") == INTERESTS_SIDE) & f.col("offer").isNotNull()
    by_interest = f.transform("offers", lambda offer: f.struct(f.col("asked").alias("asked"), offer.alias("offer")))
    by_job = f.transform(
        _from_texts(f.col("interests")),
        lambda asked: f.struct(asked.alias("asked"), f.col("offer").alias("offer")),
    )
    found = f.explode(f.when(asks, by_interest).when(offered, by_job)).alias("pair")
    pairs = met.select(found).select("pair.asked.*", "pair.offer.*")
    pairs = pairs.where((f.col("asked_since") | f.col("offered_since")) & matching.within(rules))
    return matching.shown(pairs, rules)

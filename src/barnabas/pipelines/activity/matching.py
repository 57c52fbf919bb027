"""Which jobs to recommend: interests joined with job posts, on event time, the same for a stream and for a table.

An interest is a search (a field in a city) or the view of a company. A job answers to two calls: its field in its city,
and its company. So both sides carry a `call`, and one join finds all pairs. A job fits when it was posted at most
`window` before the interest or `after` after it: whoever just searched is told of a job that comes a minute later.

An event counts when it was sent no later than `late` after it happened: a rule on the record alone
(common/lateness.py), so that the stream, a batch and plain Python agree. On a stream both sides carry a watermark: with
the bounds on time, Spark knows when an interest or a job can meet nobody any more and forgets it. Duplicates are
dropped in front of the join, by their id: it has to be remembered for minutes, where a pair behind the join would
be kept for the whole window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines.activity.rules import FRESH_POINTS, SEARCH_POINTS, VIEW_POINTS, Rules
from barnabas.pipelines.common import lateness

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def recommend(searches: DataFrame, views: DataFrame, jobs: DataFrame, rules: Rules) -> DataFrame:
    """id, member, because, about, interest, job, title, company, city, score, time, posted."""
    from pyspark.sql import functions as f

    searches = in_time(searches, rules, "searches")
    views, jobs = in_time(views, rules, "views"), in_time(jobs, rules, "jobs")
    wanted = lateness.once_each(interests(searches, views))
    offered = offers(lateness.once_each(jobs))
    return shown(wanted.join(offered, (f.col("call") == f.col("offered_call")) & within(rules)), rules)


def within(rules: Rules) -> Column:
    """Whether a job's time fits an interest's."""
    from pyspark.sql import functions as f

    return (f.col("posted") >= f.col("time") - _interval(rules.window_ms)) & (
        f.col("posted") <= f.col("time") + _interval(rules.after_ms)
    )


def shown(pairs: DataFrame, rules: Rules) -> DataFrame:
    """What is told of a pair. Its id is made of the two, so that whoever reads one twice can tell."""
    from pyspark.sql import functions as f

    return pairs.select(
        f.concat_ws(":", "id", "job").alias("id"), "member", "because", "about", f.col("id").alias("interest"), "job",
        "title", "company", "city", _score(rules), "time", "posted",
    )  # fmt: skip


def in_time(events: DataFrame, rules: Rules, of: str) -> DataFrame:
    """The events that were sent in time. Each stream has a watermark of its own, and the slowest decides: after a
    pause one topic may be read hours ahead of another."""
    events = lateness.counting(events, rules.late_ms, of)
    return lateness.watermarked(events, rules.late_ms) if events.isStreaming else events


def interests(searches: DataFrame, views: DataFrame, *more: str) -> DataFrame:
    from pyspark.sql import functions as f

    place = f.concat_ws("\x1f", f.lit("search"), f.col("field"), f.col("city"))
    searched = searches.select(
        f.lit("search").alias("because"),
        "id",
        "member",
        f.concat_ws(" in ", "field", "city").alias("about"),
        place.alias("call"),
        "time",
        *more,
    )
    viewed = views.select(
        f.lit("view").alias("because"),
        "id",
        "member",
        f.col("company").alias("about"),
        f.concat_ws("\x1f", f.lit("view"), f.col("company")).alias("call"),
        "time",
        *more,
    )
    return searched.unionByName(viewed)


def offers(jobs: DataFrame, *more: str) -> DataFrame:
    from pyspark.sql import functions as f

    calls = f.array(
        f.concat_ws("\x1f", f.lit("search"), f.col("field"), f.col("city")),
        f.concat_ws("\x1f", f.lit("view"), f.col("company")),
    )
    return jobs.select(
        f.col("id").alias("job"), "title", "company", "city", f.col("time").alias("posted"),
        f.explode(calls).alias("offered_call"), *more,
    )  # fmt: skip


def _score(rules: Rules) -> Column:
    """Whole points, so that every machine gives the same: how direct the interest was, and how fresh the job is."""
    from pyspark.sql import functions as f

    age_ms = f.greatest(f.lit(0), f.unix_millis("time") - f.unix_millis("posted"))
    base = f.when(f.col("because") == "search", f.lit(SEARCH_POINTS)).otherwise(f.lit(VIEW_POINTS))
    # 30 - floor(30 * age / window), in whole numbers.
    worn = f.floor(age_ms * FRESH_POINTS / f.lit(rules.window_ms))
    return (base + FRESH_POINTS - worn).cast("int").alias("score")


def _interval(milliseconds: int) -> Column:
    from pyspark.sql import functions as f

    return f.expr(f"INTERVAL {milliseconds / 1000:.3f} SECONDS")

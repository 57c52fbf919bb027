"""The figures of the report, worked out by Spark from the log. `answer.insights` says the same in plain Python.

All events go into one table with a column that says which kind they are, each once, kept in memory; every figure is one
small query over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines.activity import insights as told

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

HOUR_MS = 3_600_000


def events(searches: DataFrame, views: DataFrame, jobs: DataFrame) -> DataFrame:
    """kind, id, member, field, city, company, found, search, title, time: each event once, however late it came."""
    from pyspark.sql import functions as f

    columns = {"member": "bigint", "field": "string", "city": "string", "company": "string", "found": "int"}
    columns |= {"search": "string", "title": "string"}

    def of(kind: str, frame: DataFrame) -> DataFrame:
        there = [
            f.col(name) if name in frame.columns else f.lit(None).cast(of).alias(name) for name, of in columns.items()
        ]
        return frame.dropDuplicates(["id"]).select(f.lit(kind).alias("kind"), "id", *there, "time")

    return of("search", searches).unionByName(of("view", views)).unionByName(of("job", jobs))


def insights(
    all_events: DataFrame, recommendations: DataFrame, begin_ms: int, end_ms: int, gap_ms: int
) -> told.Insights:
    """`all_events` are those of the range; `recommendations` the pairs whose interest lies in it."""
    from pyspark.sql import functions as f

    is_search, is_view, is_job = (f.col("kind") == kind for kind in ("search", "view", "job"))
    totals = all_events.agg(
        f.count_if(is_search),
        f.count_if(is_view),
        f.count_if(is_job),
        f.count_distinct(f.when(~is_job, f.col("member"))),
    ).first()
    made = recommendations.agg(
        f.count("*"), f.count_distinct(f.when(f.col("because") == "search", f.col("interest")))
    ).first()
    assert totals is not None and made is not None
    return told.Insights(
        begin_ms,
        end_ms,
        searches=int(totals[0]),
        views=int(totals[1]),
        jobs=int(totals[2]),
        members=int(totals[3]),
        recommendations=int(made[0]),
        helped=int(made[1]),
        hours=_hours(all_events, is_search, is_view, is_job),
        companies=_companies(all_events, is_view, is_job),
        places=_places(all_events.where(is_search)),
        funnel=_funnel(all_events, is_search, is_view),
        fields=_fields(all_events, is_search, is_job),
        sessions=_sessions(all_events.where(~is_job), gap_ms),
        tips=_tips(recommendations),
    )


def _hours(all_events: DataFrame, *kinds: Column) -> tuple[told.Hour, ...]:
    from pyspark.sql import functions as f

    hour = f.floor(f.unix_millis("time") / HOUR_MS).alias("hour")
    counted = all_events.groupBy(hour).agg(*[f.count_if(kind) for kind in kinds], f.count_distinct("member"))
    return tuple(told.Hour(int(row[0]) * HOUR_MS, *(int(each) for each in row[1:])) for row in _sorted(counted, "hour"))


def _companies(all_events: DataFrame, is_view: Column, is_job: Column) -> tuple[told.Company, ...]:
    from pyspark.sql import functions as f

    counted = (
        all_events.where(f.col("company").isNotNull())
        .groupBy("company")
        .agg(f.count_if(is_view).alias("views"), f.count_distinct(f.when(is_view, f.col("member"))), f.count_if(is_job))
    )
    ranked = counted.where("views > 0").orderBy(f.desc("views"), "company").limit(told.TOP)
    return tuple(told.Company(row[0], int(row[1]), int(row[2]), int(row[3])) for row in ranked.collect())


def _places(searches: DataFrame) -> tuple[tuple[str, str, int], ...]:
    from pyspark.sql import functions as f

    counted = searches.groupBy("field", "city").agg(f.count("*").alias("n"))
    ranked = counted.orderBy(f.desc("n"), "field", "city").limit(told.TOP)
    return tuple((row[0], row[1], int(row[2])) for row in ranked.collect())


def _funnel(all_events: DataFrame, is_search: Column, is_view: Column) -> tuple[int, ...]:
    from pyspark.sql import functions as f

    views = all_events.where(is_view & f.col("search").isNotNull()).groupBy(f.col("search").alias("id"))
    followed = all_events.where(is_search).join(views.agg(f.count("*").alias("looked")), "id", "left")
    row = followed.agg(
        f.count("*"), f.count_if(f.col("found") > 0), f.count_if(f.col("looked") > 0), f.count_if(f.col("looked") > 2)
    ).first()
    assert row is not None
    return tuple(int(each) for each in row)


def _fields(all_events: DataFrame, is_search: Column, is_job: Column) -> tuple[told.Field, ...]:
    from pyspark.sql import functions as f

    hour = f.pmod(f.floor(f.unix_millis("time") / HOUR_MS), f.lit(24))
    counted = all_events.where(is_search | is_job).groupBy("field", hour).agg(f.count_if(is_search), f.count_if(is_job))
    by_field: dict[str, tuple[list[int], list[int]]] = {}  # searches and jobs; searches by hour
    for name, at, searches, jobs in counted.collect():
        sums, hours = by_field.setdefault(name, ([0, 0], [0] * 24))
        sums[0] += int(searches)
        sums[1] += int(jobs)
        hours[int(at)] = int(searches)
    ranked = sorted(by_field.items(), key=lambda item: (-item[1][0][0], item[0]))
    return tuple(told.Field(name, searches, jobs, tuple(hours)) for name, ((searches, jobs), hours) in ranked)


def _tips(recommendations: DataFrame) -> tuple[told.Tip, ...]:
    from pyspark.sql import functions as f

    job = ("job", "title", "company", "city")
    counted = recommendations.groupBy(*job).agg(f.count_distinct("member").alias("members"))
    ranked = counted.orderBy(f.desc("members"), *job).limit(told.TOP).collect()
    return tuple(told.Tip(row[0], row[1], row[2], row[3], int(row[4])) for row in ranked)


def _sessions(member_events: DataFrame, gap_ms: int) -> told.Sessions:
    """By event time. Spark's session window ends one gap after its last event."""
    from pyspark.sql import functions as f

    window = f.session_window("time", f"{gap_ms} milliseconds")
    sessions = member_events.groupBy("member", window).agg(f.count("*").alias("events"))
    length_ms = f.unix_millis("session_window.end") - f.unix_millis("session_window.start") - gap_ms
    lengths = sessions.select("events", length_ms.alias("ms")).withColumn("s", f.floor(f.col("ms") / 1000))
    bounds = [0, *told.LENGTHS_S]
    classes = [
        f.count_if((f.col("ms") >= low * 1000) & (f.col("ms") < high * 1000 if high else f.lit(True)))
        for low, high in zip(bounds, [*told.LENGTHS_S, None], strict=True)
    ]
    row = lengths.agg(
        f.count("*"), f.coalesce(f.sum("events"), f.lit(0)), f.coalesce(f.sum("s"), f.lit(0)),
        f.coalesce(f.percentile("s", 0.5), f.lit(0.0)), *classes,
    ).first()  # fmt: skip
    assert row is not None
    return told.Sessions(int(row[0]), int(row[1]), int(row[2]), float(row[3]), tuple(int(each) for each in row[4:]))


def _sorted(frame: DataFrame, column: str) -> list[Row]:
    return sorted(frame.collect(), key=lambda row: row[column])

"""The figures of the report, worked out by Spark from the log. `answer.insights` says the same in plain Python.

Every figure is one small query over the tables of the range (day.py), and none brings more to the driver than the page
shows, but for a number for each job. So it is the disk that has to hold the day, not the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines.activity import insights as told
from barnabas.pipelines.activity.day import Day
from barnabas.pipelines.activity.meeting import met
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.activity.visits import HOUR_MS, visits

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def insights(day: Day, rules: Rules, begin_ms: int, end_ms: int, gap_ms: int) -> told.Insights:
    from pyspark.sql import functions as f
    from pyspark.storagelevel import StorageLevel

    by_place = (
        day.searches.groupBy(_hour(), "field", "city").agg(f.count("*").alias("n")).persist(StorageLevel.DISK_ONLY)
    )
    try:
        searches = _by_hour(by_place.select("hour", "n"))
        views, jobs = (_by_hour(each.select(_hour(), f.lit(1).alias("n"))) for each in (day.views, day.jobs))
        seen = visits(day.searches, day.views, gap_ms)
        found = met(day, rules)
        all_hours = sorted({*searches, *views, *jobs})
        return told.Insights(
            begin_ms,
            end_ms,
            searches=sum(searches.values()),
            views=sum(views.values()),
            jobs=sum(jobs.values()),
            members=seen.members,
            recommendations=found.recommendations,
            helped=found.helped,
            hours=tuple(
                told.Hour(at * HOUR_MS, *(each.get(at, 0) for each in (searches, views, jobs, seen.hours)))
                for at in all_hours
            ),
            companies=_companies(day),
            places=_places(by_place),
            funnel=_funnel(day),
            fields=_fields(by_place, day.jobs),
            sessions=seen.sessions(sum(searches.values()) + sum(views.values())),
            tips=found.tips,
        )
    finally:
        by_place.unpersist()


def _hour() -> Column:
    from pyspark.sql import functions as f

    return f.floor(f.unix_millis("time") / HOUR_MS).alias("hour")


def _by_hour(counted: DataFrame) -> dict[int, int]:
    from pyspark.sql import functions as f

    return {int(row[0]): int(row[1]) for row in counted.groupBy("hour").agg(f.sum("n")).collect()}


def _by_name(counted: DataFrame) -> dict[str, int]:
    return {row[0]: int(row[1]) for row in counted.collect()}


def _companies(day: Day) -> tuple[told.Company, ...]:
    from pyspark.sql import functions as f

    counted = day.views.groupBy("company").agg(f.count("*").alias("views"))
    first = counted.orderBy(f.desc("views"), "company").limit(told.TOP).collect()
    among = f.col("company").isin([row["company"] for row in first])
    viewers = _by_name(day.views.where(among).groupBy("company").agg(f.count_distinct("member")))
    jobs = _by_name(day.jobs.where(among).groupBy("company").agg(f.count("*")))
    return tuple(told.Company(name, int(views), viewers[name], jobs.get(name, 0)) for name, views in first)


def _places(by_place: DataFrame) -> tuple[tuple[str, str, int], ...]:
    from pyspark.sql import functions as f

    counted = by_place.groupBy("field", "city").agg(f.sum("n").alias("n"))
    ranked = counted.orderBy(f.desc("n"), "field", "city").limit(told.TOP)
    return tuple((row[0], row[1], int(row[2])) for row in ranked.collect())


def _funnel(day: Day) -> tuple[int, ...]:
    """Searches and the views that follow them are brought together by the search's id, with nothing else of them."""
    from pyspark.sql import functions as f

    searched = day.searches.select("id", "found", f.lit(0).alias("looked"))
    followed = day.views.where(f.col("search").isNotNull()).select(
        f.col("search").alias("id"), f.lit(None).cast("int").alias("found"), f.lit(1).alias("looked")
    )
    both = (
        searched.unionByName(followed).groupBy("id").agg(f.max("found").alias("found"), f.sum("looked").alias("looked"))
    )
    row = both.where(f.col("found").isNotNull()).agg(
        f.count("*"), f.count_if(f.col("found") > 0), f.count_if(f.col("looked") > 0), f.count_if(f.col("looked") > 2)
    ).first()  # fmt: skip
    assert row is not None
    return tuple(int(each) for each in row)


def _fields(by_place: DataFrame, jobs: DataFrame) -> tuple[told.Field, ...]:
    from pyspark.sql import functions as f

    by_field: dict[str, tuple[int, list[int]]] = {}  # searches, and searches by hour
    of_day = f.pmod("hour", f.lit(24))
    for name, at, searches in by_place.groupBy("field", of_day).agg(f.sum("n")).collect():
        total, hours = by_field.get(name, (0, [0] * 24))
        hours[int(at)] = int(searches)
        by_field[name] = total + int(searches), hours
    offered = _by_name(jobs.groupBy("field").agg(f.count("*")))
    found = []
    for name in {*by_field, *offered}:
        searches, by_hour = by_field.get(name, (0, [0] * 24))
        found.append(told.Field(name, searches, offered.get(name, 0), tuple(by_hour)))
    return tuple(sorted(found, key=lambda each: (-each.searches, each.name)))

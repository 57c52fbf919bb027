"""What the recommendations of a range come to: how many, to how many searches, and the jobs told to most members.

Counted without making the pairs (offers.py). A job is told for two calls, its place and its company, and a member that
has both counts once: all that is known then is that it is at most their sum. So pairs are made of the few jobs whose
sum is large enough for the first ten, and of no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipelines.activity import insights as told
from barnabas.pipelines.activity.day import Day
from barnabas.pipelines.activity.matching import interests, offers, within
from barnabas.pipelines.activity.offers import HELPED, MET, PAIRS, Offers, counting
from barnabas.pipelines.activity.rules import Rules

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from barnabas.pipelines.activity.offers import Numbers

LOOKED_AT = 20 * told.TOP  # so many jobs are counted exactly first
JOB = ("job", "title", "company", "city")


@dataclass(frozen=True, slots=True)
class Met:
    recommendations: int = 0
    helped: int = 0  # searches that got at least one
    tips: tuple[told.Tip, ...] = ()


def met(day: Day, rules: Rules) -> Met:
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import functions as f

    wanted = interests(day.searches.where("in_time"), day.views.where("in_time"))
    offered = offers(day.offered.where("in_time"))
    posted = offered.select("job", "offered_call", f.unix_millis("posted").alias("at")).toArrow().combine_chunks()
    if not posted.num_rows:
        return Met()
    calls, jobs = (_encoded(posted.column(name)) for name in ("offered_call", "job"))
    sorted_offers, places = Offers.of(_numbers(calls.indices), posted.column("at").to_numpy(), rules)
    known = pa.table({"known": calls.dictionary, "number": pa.array(range(len(calls.dictionary)), pa.int64())})
    found = _counted(wanted, wanted.sparkSession.createDataFrame(known), sorted_offers)
    totals = dict(zip(*(found.column(name).to_pylist() for name in ("place", "count")), strict=True))
    members = np.array([totals.get(place, 0) for place in range(len(places))], np.int64)
    most = np.bincount(_numbers(jobs.indices), members[places]).astype(np.int64)
    return Met(totals[PAIRS], totals[HELPED], _tips(wanted, offered, jobs.dictionary, most, rules))


def _counted(wanted: DataFrame, known: DataFrame, sorted_offers: Offers) -> pa.Table:
    from pyspark.sql import functions as f

    rows = wanted.join(f.broadcast(known), f.col("call") == f.col("known")).select(
        f.col("number").alias("call"), "member", f.unix_millis("time").alias("at"),
        (f.col("because") == "search").cast("long").alias("searched"),
    )  # fmt: skip
    by_call = rows.repartition("call").sortWithinPartitions("call", "member", "at")
    return (
        by_call.mapInArrow(counting(sorted_offers), MET).groupBy("place").agg(f.sum("count").alias("count")).toArrow()
    )


def _tips(wanted: DataFrame, offered: DataFrame, jobs: pa.Array, most: Numbers, rules: Rules) -> tuple[told.Tip, ...]:
    """Jobs by how many members they are told to. `most` is a bound for each, and they are looked at from the top."""
    import numpy as np

    order = np.argsort(-most, kind="stable")
    order = order[most[order] > 0]
    looked_at, rest = order[:LOOKED_AT], order[LOOKED_AT:]
    tips = _exactly(wanted, offered, jobs.take(looked_at), rules)
    if len(tips) >= told.TOP:
        rest = rest[most[rest] >= tips[told.TOP - 1].members]
    if len(rest):
        tips += _exactly(wanted, offered, jobs.take(rest), rules)
    return tuple(_ranked(tips)[: told.TOP])


def _exactly(wanted: DataFrame, offered: DataFrame, jobs: pa.Array, rules: Rules) -> list[told.Tip]:
    import pyarrow as pa
    from pyspark.sql import functions as f

    chosen = wanted.sparkSession.createDataFrame(pa.table({"job": jobs}))
    few = f.broadcast(offered.join(f.broadcast(chosen), "job"))
    pairs = wanted.select("call", "time", "member").join(few, (f.col("call") == f.col("offered_call")) & within(rules))
    counted = pairs.groupBy(*JOB).agg(f.count_distinct("member").alias("members"))
    return _ranked([told.Tip(row[0], row[1], row[2], row[3], int(row[4])) for row in counted.collect()])


def _ranked(tips: list[told.Tip]) -> list[told.Tip]:
    return sorted(tips, key=lambda tip: (-tip.members, tip.job, tip.title, tip.company, tip.city))


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    import pyarrow as pa

    whole = column.combine_chunks()
    array = whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
    return array.dictionary_encode()


def _numbers(array: pa.Array) -> Numbers:
    import numpy as np

    numbers: Numbers = array.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers

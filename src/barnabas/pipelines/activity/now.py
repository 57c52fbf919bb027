"""`activity --now`: a fast query from the three topics to the topic of recommendations, and a slow one to the table.

The fast query runs in Spark's Real-Time Mode (live.py) and answers in milliseconds, each pair at least once. It reads
the jobs that are still open and the interests of the last minutes; older interests are history and are worked through
by a batch beside it (backlog.py). With --exactly-once, or where that mode cannot be had, it is a join by micro-batches.

The table is filled from the topic, not from the fast query: so it holds what consumers were told, each pair once.
"""

from __future__ import annotations

from barnabas.pipelines.activity import backlog, table
from barnabas.pipelines.activity.generator import JOBS, SEARCHES, VIEWS
from barnabas.pipelines.activity.live import PARTITIONS, recommend_live
from barnabas.pipelines.activity.matching import recommend
from barnabas.pipelines.activity.options import rules_of
from barnabas.pipelines.framework import RunContext, decoding, realtime
from barnabas.pipelines.framework.context import AT_LEISURE, CLOCKS_MS

RECOMMENDATIONS = "activity.recommendations"
TABLE_EVERY = "30 seconds"


def start(context: RunContext) -> None:
    if context.realtime:
        _start_live(context)
    else:
        searches, views, jobs = (context.stream(name) for name in (SEARCHES, VIEWS, JOBS))
        pairs = recommend(searches, views, jobs, rules_of(context))
        context.to_topic(decoding.as_json(pairs, key="member"), RECOMMENDATIONS, "recommend")
    told = context.raw_stream(RECOMMENDATIONS, **{"kafka.group.id": "activity.table"}, **AT_LEISURE)
    rows = decoding.good(told, table.SCHEMA).select(*table.COLUMNS)
    writer = rows.writeStream.foreachBatch(
        table.append_to(context.path("tables", table.NAME), told_twice=context.realtime)
    )
    context.start(writer, "table", TABLE_EVERY, after=realtime.LIVE if context.realtime else "recommend")


def _start_live(context: RunContext) -> None:
    rules = rules_of(context)
    history = backlog.of(context, rules)
    since_ms = history.since_ms
    jobs_ms = since_ms - rules.window_ms - rules.late_ms
    searches, views = (realtime.stream(context, name, since_ms - CLOCKS_MS) for name in (SEARCHES, VIEWS))
    jobs = realtime.stream(context, JOBS, jobs_ms - CLOCKS_MS)
    pairs = recommend_live(searches, views, jobs, rules, since_ms)
    realtime.to_topic(context, decoding.as_json(pairs, key="member"), RECOMMENDATIONS, PARTITIONS)
    backlog.work_through_beside(context, history, rules)

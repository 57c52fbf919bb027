"""`activity --now`: a fast query from the three topics to the topic of recommendations, and a slow one to the table.

The fast query runs in Spark's Real-Time Mode (live.py) and answers in milliseconds, each pair at least once. It reads
the jobs that are still open and the interests of the last minutes; pairs whose interest and job were both sent before
it began are told by a batch beside it (framework/backlog.py). With --exactly-once, or where that mode cannot be had, it
is a join by micro-batches.

The table is filled from the topic, not from the fast query: so it holds what consumers were told, each pair once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines.activity import table
from barnabas.pipelines.activity.generator import JOBS, SEARCHES, VIEWS
from barnabas.pipelines.activity.live import PARTITIONS, recommend_live
from barnabas.pipelines.activity.matching import recommend
from barnabas.pipelines.activity.options import rules_of
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.common.lateness import SKEW_MS
from barnabas.pipelines.framework import RunContext, backlog, decoding, realtime
from barnabas.pipelines.framework.context import AT_LEISURE, CLOCKS_MS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

RECOMMENDATIONS = "activity.recommendations"
TABLE_EVERY = "30 seconds"


def start(context: RunContext) -> None:
    if context.realtime:
        _start_live(context)
    else:
        searches, views, jobs = (context.stream(name) for name in (SEARCHES, VIEWS, JOBS))
        pairs = recommend(searches, views, jobs, rules_of(context))
        context.to_topic(decoding.as_json(pairs, key="member"), RECOMMENDATIONS, "recommend")
    before = realtime.LIVE if context.realtime else "recommend"
    context.start_after(before, lambda: _table(context), "table", TABLE_EVERY, fills_table=True)


def _table(context: RunContext) -> DataStreamWriter:
    values = {"valueFormat": "json", "valueSchema": table.SCHEMA, "valueMode": "DROPMALFORMED"}  # less CPU than SQL
    reading = {"kafka.group.id": "activity.table", "maxOffsetsPerTrigger": str(table.MOST_ROWS), **AT_LEISURE}
    rows = context.raw_stream(RECOMMENDATIONS, **values, **reading).select(*table.COLUMNS)
    append = table.append_to(context.path("tables", table.NAME), told_twice=context.realtime)
    return rows.writeStream.foreachBatch(append)


def _start_live(context: RunContext) -> None:
    rules = rules_of(context)
    history = backlog.decided(context, earlier_ms(rules))
    since_ms = history.since_ms
    interests_ms, jobs_ms = since_ms - earlier_ms(rules), since_ms - rules.window_ms - rules.late_ms
    begin_ms = {SEARCHES: interests_ms, VIEWS: interests_ms, JOBS: jobs_ms}
    searches, views, jobs = realtime.streams(context, {name: ms - CLOCKS_MS for name, ms in begin_ms.items()})
    pairs = recommend_live(searches, views, jobs, rules, since_ms)
    realtime.to_topic(context, decoding.as_json(pairs, key="member"), RECOMMENDATIONS, PARTITIONS)
    backlog.work_through_beside(context, history, lambda: _told_before(context, history, rules), RECOMMENDATIONS)


def earlier_ms(rules: Rules) -> int:
    """How long before a job an interest may have been sent that still wants it."""
    return rules.after_ms + rules.late_ms + 2 * SKEW_MS


def _told_before(context: RunContext, history: backlog.History, rules: Rules) -> DataFrame:
    from pyspark.sql import functions as f

    sent_ms = f.unix_millis("_timestamp")
    before = sent_ms < history.since_ms

    def interests(name: str) -> DataFrame:
        return context.batch(name).where(before & (sent_ms >= history.from_ms))

    jobs = context.batch(JOBS, rules.window_ms + rules.late_ms).where(before)
    return decoding.as_json(recommend(interests(SEARCHES), interests(VIEWS), jobs, rules), key="member")

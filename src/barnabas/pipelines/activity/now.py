"""`activity --now`: one fast query from the three topics to the topic of recommendations, and a slow one to the table.

The table is filled from the topic, not from the join: so it holds exactly what consumers were told, the join runs
once, and the fast query has the cores for itself most of the time.
"""

from __future__ import annotations

from barnabas.pipelines.activity import table
from barnabas.pipelines.activity.generator import JOBS, SEARCHES, VIEWS
from barnabas.pipelines.activity.matching import recommend
from barnabas.pipelines.activity.options import rules_of
from barnabas.pipelines.framework import RunContext, decoding
from barnabas.pipelines.framework.context import AT_LEISURE

RECOMMENDATIONS = "activity.recommendations"
TABLE_EVERY = "30 seconds"


def start(context: RunContext) -> None:
    searches, views, jobs = (context.stream(name) for name in (SEARCHES, VIEWS, JOBS))
    pairs = recommend(searches, views, jobs, rules_of(context))
    context.to_topic(decoding.as_json(pairs, key="member"), RECOMMENDATIONS, "recommend")
    told = context.raw_stream(RECOMMENDATIONS, **{"kafka.group.id": "activity.table"}, **AT_LEISURE)
    rows = decoding.good(told, table.SCHEMA).select(*table.COLUMNS)
    writer = rows.writeStream.foreachBatch(table.append_to(context.path("tables", table.NAME)))
    context.start(writer, "table", TABLE_EVERY, after="recommend")

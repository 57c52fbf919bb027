"""`activity --later`: the log of a day becomes one page, a heap of digests and, when asked for, a reloaded table.

Without --from and --to it is the last 24 hours. The digests are rendered by Spark's workers; the driver only puts them
into the outbox, one after the other, so it never holds more than a few.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from barnabas.pipelines.activity import counting, day, digest, report, table
from barnabas.pipelines.activity.generator import JOBS, MEMBERS, SEARCHES, VIEWS
from barnabas.pipelines.activity.matching import recommend
from barnabas.pipelines.activity.options import rules_of
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.framework import Outcome, RunContext
from barnabas.pipelines.framework.spans import span_ms

if TYPE_CHECKING:
    import pandas
    from pyspark.sql import DataFrame

DAY_MS = 86_400_000
RENDERED = "name string, message binary"


def work_through(context: RunContext) -> Outcome:
    now_ms = int(time.time() * 1000)
    context.end_ms = context.end_ms if context.end_ms is not None else now_ms
    context.begin_ms = context.begin_ms if context.begin_ms is not None else context.end_ms - DAY_MS
    begin_ms, end_ms = context.begin_ms, context.end_ms
    rules = rules_of(context)
    with day.opened(context, rules) as held:
        gap_ms = span_ms(context.option("session"), "session")
        found = counting.insights(held, rules, begin_ms, end_ms, gap_ms)
        page = context.path("report.html")
        page.write_text(report.page(found, now_ms), encoding="utf-8")
        context.path("insights.json").write_text(json.dumps(asdict(found), indent=1), encoding="utf-8")
        numbers: dict[str, int | float] = {
            "searches": found.searches,
            "views": found.views,
            "jobs": found.jobs,
            "members": found.members,
            "sessions": found.sessions.count,
            "recommendations": found.recommendations,
        }
        if context.option("reload") == "yes":
            numbers["reloaded"] = _reload(context, rules, begin_ms, end_ms)
        written, sent = _digests(context, held.jobs, end_ms, now_ms)
    numbers["digests"] = written
    if context.option("smtp"):
        numbers["sent"] = sent
    files = {"report": page, "figures": context.path("insights.json"), "digests": context.path("outbox")}
    return Outcome(report.sentences(found), files, numbers)


def _reload(context: RunContext, rules: Rules, begin_ms: int, end_ms: int) -> int:
    earlier_ms = rules.window_ms + rules.late_ms
    searches, views, jobs = (context.batch(name, earlier_ms) for name in (SEARCHES, VIEWS, JOBS))
    pairs = context.within(recommend(searches, views, jobs, rules), "time")
    return table.reload(context.path("tables", table.NAME), pairs, begin_ms, end_ms)


def _digests(context: RunContext, posted: DataFrame, end_ms: int, now_ms: int) -> tuple[int, int]:
    """How many were written, and how many of them a mail server took."""
    from pyspark.sql import functions as f

    date = datetime.fromtimestamp((end_ms - 1) / 1000, UTC).strftime("%Y-%m-%d")
    job = f.struct(f.unix_millis("time").alias("time_ms"), "title", "city")
    by_company = posted.groupBy("company").agg(f.sort_array(f.collect_list(job)).alias("jobs"))
    newest = f.struct("_timestamp", "_partition", "_offset")
    members = (
        context.everything(MEMBERS)
        .groupBy("member")
        .agg(*[f.max_by(name, newest).alias(name) for name in ("name", "email", "company")])
    )
    rendered = members.join(by_company, "company").mapInPandas(_rendering(date, now_ms), RENDERED)
    outbox = context.path("outbox")
    written = digest.leave(outbox, ((row[0], bytes(row[1])) for row in rendered.toLocalIterator()))
    server = context.option("smtp")
    return written, digest.send(outbox, server) if server else 0


def _rendering(date: str, now_ms: int) -> Callable[[Iterator[pandas.DataFrame]], Iterator[pandas.DataFrame]]:
    """What runs in the workers: rows of members with their company's jobs to messages."""

    def render(frames: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        import pandas

        for frame in frames:
            rows = []
            for member, name, email, company, jobs in zip(
                frame["member"], frame["name"], frame["email"], frame["company"], frame["jobs"], strict=True
            ):
                postings = [(job["title"], job["city"], int(job["time_ms"])) for job in jobs]
                made = digest.to_render(int(member), name, email, company, postings)
                rows.append((digest.file_name(date, int(member)), digest.render(made, date, now_ms)))
            yield pandas.DataFrame(rows, columns=["name", "message"])

    return render

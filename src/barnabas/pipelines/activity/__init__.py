"""Activity of members: jobs recommended within the second, and the insights of the day.

Reads searches, views and job posts. Now: each search and each view is joined with the jobs that fit, by event time, and
the recommendations go to a topic, and from there to a table. Later: one page with the day's insights, and
a digest by e-mail for the members whose company posted a job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from barnabas.pipelines.activity.generator import JOBS, MEMBERS, SEARCHES, VIEWS, Activity
from barnabas.pipelines.framework import Option, Outcome, Pipeline, Record, RunContext, Topic, backlog
from barnabas.pipelines.framework.realtime import BATCH

RECOMMENDATIONS = "activity.recommendations"

SEARCH_SCHEMA = (
    "id STRING NOT NULL, member BIGINT NOT NULL, field STRING NOT NULL, city STRING NOT NULL, found INT NOT NULL, "
    "time TIMESTAMP NOT NULL"
)
VIEW_SCHEMA = (
    "id STRING NOT NULL, member BIGINT NOT NULL, company STRING NOT NULL, search STRING, time TIMESTAMP NOT NULL"
)
JOB_SCHEMA = (
    "id STRING NOT NULL, company STRING NOT NULL, title STRING NOT NULL, field STRING NOT NULL, city STRING NOT NULL, "
    "time TIMESTAMP NOT NULL"
)
MEMBER_SCHEMA = "member BIGINT NOT NULL, name STRING NOT NULL, email STRING NOT NULL, company STRING NOT NULL"


class ActivityPipeline(Pipeline):
    name = "activity"
    summary = "searches, views and job posts: jobs to recommend, insights, digests"
    now_summary = "jobs that fit a search or a view, seconds after it"
    later_summary = "the day's insights as a page, digest e-mails for members whose company posted a job"
    reads = (
        Topic(SEARCHES, schema=SEARCH_SCHEMA),
        Topic(VIEWS, schema=VIEW_SCHEMA),
        Topic(JOBS, schema=JOB_SCHEMA),
        Topic(MEMBERS, schema=MEMBER_SCHEMA, configs={"cleanup.policy": "compact"}, streamed=False),
    )
    writes = (Topic(RECOMMENDATIONS),)
    realtime = 1
    options = (
        Option("window", "24h", "how old a job may be when somebody looks"),
        Option("after", "10m", "how long after somebody looked a new job is still told"),
        Option("late", "1m", "how long after it happened an event may be sent and still count"),
        Option("session", "30m", "the pause that ends a member's session"),
        backlog.OPTION,
        BATCH,
        Option("reload", "no", "with --later, yes puts the range's recommendations anew into the table"),
        Option("smtp", "", "host:port of a mail server for the digests; without it they stay in the outbox"),
    )

    def now(self, context: RunContext) -> None:
        from barnabas.pipelines.activity.now import start

        start(context)

    def later(self, context: RunContext) -> Outcome:
        from barnabas.pipelines.activity.later import work_through

        return work_through(context)

    def generate(self, seed: int, begin_ms: int, rate: float) -> Iterator[Record]:
        activity = Activity(seed)
        yield from activity.members(begin_ms)
        yield from activity.live(begin_ms, rate)

    def tell(self, topic: str, value: Mapping[str, object]) -> str:
        if "job" not in value:
            return super().tell(topic, value)
        told = f"member {value['member']}: {value['title']} at {value['company']} in {value['city']}"
        return f"{told}  (a {value['because']} of {value['about']}, {value['score']} points)"


PIPELINE = ActivityPipeline()

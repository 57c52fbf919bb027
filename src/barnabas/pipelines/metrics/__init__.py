"""`metrics`: what each service does right now, in windows of ten seconds, and what it kept of its promises in a day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from barnabas.pipelines.framework import Option, Outcome, Pipeline, Record, Topic, backlog
from barnabas.pipelines.framework.realtime import BATCH
from barnabas.pipelines.metrics import generator
from barnabas.pipelines.metrics.levels import Promise
from barnabas.pipelines.metrics.now import RESULTS, SCHEMA

if TYPE_CHECKING:
    from barnabas.pipelines.framework import RunContext


class Metrics(Pipeline):
    name = "metrics"
    summary = "rate, errors and latency of each service"
    now_summary = "each service in windows of 10 s: rate, error share, p50, p95, p99, to a topic"
    later_summary = "the day's service levels, as a page"
    reads = (Topic(generator.TOPIC, schema=SCHEMA),)
    writes = (Topic(RESULTS, configs={"cleanup.policy": "compact"}),)
    options = (
        Option("availability", str(Promise().availability), "promised share of requests without a server error, in %"),
        Option("p95", str(Promise().p95_ms), "promised latency of 95 of 100 requests, in ms"),
        backlog.OPTION,
        BATCH,
    )
    realtime = 2  # one that knows the ids of requests, one that keeps the windows

    def now(self, context: RunContext) -> None:
        from barnabas.pipelines.metrics.now import start

        start(context)

    def later(self, context: RunContext) -> Outcome:
        from barnabas.pipelines.common.numbers import positive
        from barnabas.pipelines.metrics import later

        promise = Promise(positive(context, "availability", at_most=100), positive(context, "p95"))
        requests = context.within(context.batch(generator.TOPIC), "time").cache()
        try:
            seen = later.recomputed(requests)
            levels = later.service_levels(requests, seen, promise)
            too_late = later.left_out(requests)
        finally:
            requests.unpersist()
        place = context.path("service-levels.html")
        place.write_text(later.report(levels, seen, promise, too_late))
        lines = [
            f"{each.service}: {each.requests:,} requests, {each.availability:.2f} % answered, p95 {each.p95:,.0f} ms, "
            f"{each.budget_used:.0%} of the error budget used"
            for each in levels
        ]
        requests_seen = sum(each.requests for each in levels)
        numbers = {"requests": requests_seen, "services": len(levels), "windows": len(seen), "too_late": too_late}
        return Outcome(lines, {"report": place}, numbers)

    def generate(self, seed: int, begin_ms: int, rate: float) -> Iterator[Record]:
        return generator.generate(seed, begin_ms, rate)

    def tell(self, topic: str, value: Mapping[str, object]) -> str:
        share = value.get("error_share")
        errors = f"{share:.1%}" if isinstance(share, float) else "-"
        p95 = value.get("p95")
        latency = f"{p95:,.1f} ms" if isinstance(p95, int | float) else "-"
        return f"{value.get('service')} {value.get('rate')}/s, errors {errors}, p95 {latency}"


PIPELINE = Metrics()

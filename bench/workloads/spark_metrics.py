"""`barnabas pipeline run metrics`: from a request produced to its window consumed.

Requests of ten services come at a fixed rate. Now and then one is of a service of its own, so that it is known whose
window comes out; for those the time is taken.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..live_pipeline import LivePipeline, keep_producing
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..stats import percentile
from ..workload import RunResult, Workload

SETTLE_S = 15.0  # after the first result, before the time is taken: Java compiles what is hot
TIMED_S = 120.0  # as long as a batch, so that the pause between two is in it
SERVICES = 10
PROBE = "probe-"
PROBES_OF = 20  # one request in so many


@dataclass(frozen=True, slots=True)
class LiveCase:
    rate: int
    seconds: float

    @property
    def label(self) -> str:
        return f"{self.rate:,} events/s"


class LiveWorkload(Workload[LiveCase]):
    """A pipeline in Real-Time Mode at one rate; a row says which, and what its events and results are."""

    warm_up: ClassVar[float] = 0.0
    settle_s: ClassVar[float] = SETTLE_S

    def cases(self) -> Sequence[LiveCase]:
        return [LiveCase(1_000, TIMED_S)]

    def quick_cases(self) -> Sequence[LiveCase]:
        return [LiveCase(1_000, 20.0)]

    def pipeline(self, server: Server) -> LivePipeline:
        raise AssertionError("a row has one")

    def run(self, server: Server, case: LiveCase, options: Options) -> RunResult:
        with self.pipeline(server) as pipeline:
            pipeline.change(case.rate)
            meter = Meter(server)
            first_s = pipeline.await_first()
            pipeline.delays(self.settle_s)
            delays = pipeline.delays(options.seconds(case.seconds))
            found = {"p50_ms": percentile(delays, 0.5), "p99_ms": percentile(delays, 0.99), "first_s": first_s}
            return meter.stop(records=pipeline.count, record_bytes=250) | found


def live_measures(from_to: str, p50_ms: int, p99_ms: int) -> tuple[Measure, ...]:
    return (
        Measure("p50_ms", f"{from_to}, p50", "ms", Better.LOWER, value_goal=p50_ms, digits=0),
        Measure("p99_ms", "the same, p99", "ms", Better.LOWER, value_goal=p99_ms, digits=0),
        Measure("first_s", "from `pipeline run` to the first result", "s", Better.LOWER, digits=1),
    )


class SparkMetrics(LiveWorkload):
    name = "spark-metrics"
    title = "Spark: metrics --now, from request to window"
    measures = live_measures("request produced to its window consumed", 100, 300)

    def pipeline(self, server: Server) -> LivePipeline:
        from barnabas.pipelines.metrics import PIPELINE
        from barnabas.pipelines.metrics.now import RESULTS

        return LivePipeline(server, PIPELINE, RESULTS, produce, requested_ms)


def requested_ms(value: dict[str, Any]) -> float | None:
    """The name of a probe has the time at which its one request was made."""
    service = str(value["service"])
    return float(service.removeprefix(PROBE)) if service.startswith(PROBE) else None


def produce(bootstrap: str, topics: dict[str, str], rate: Any) -> None:
    from barnabas.pipelines.metrics.generator import TOPIC

    chance, topic = random.Random(7), topics[TOPIC]
    probed_ms = 0

    def each(producer: Any, number: int, at_ms: int, at: str) -> None:
        nonlocal probed_ms
        service = f"service-{int(chance.random() * SERVICES)}"
        if number % PROBES_OF == 0 and at_ms > probed_ms:
            service, probed_ms = f"{PROBE}{at_ms}", at_ms
        latency, status = int(chance.expovariate(1 / 40_000)), 500 if chance.random() < 0.01 else 200
        told = f'"service":"{service}","path":"/","time":"{at}","status":{status},"latency_us":{latency}'
        producer.produce(topic, f'{{"id":"r-{number}",{told}}}', service)

    keep_producing(bootstrap, rate, each)

"""`--later` over 1, 10 and 100 million records: does it end, in what memory, and does each million cost the same?

A day of activity, the visits of web shops and the commit log of stores, made by the pipelines' own generators and
written into a node; then the pipeline by its command, in a process of its own, with Spark's defaults: local, all cores,
a Java heap of 1 GB. The answer is checked by what was written. One run of each case, on our node only: what is asked is
how it grows. 100 million take a machine of two cores most of an hour each, and up to 40 GB on the disk.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from barnabas.pipelines.framework import Pipeline, topics

from .. import large_accounts, large_activity, large_shop
from ..clients import delete_topic
from ..later_pipeline import Used, at, run_later, size_gb
from ..measures import Better, Measure
from ..options import Options
from ..servers import Server
from ..workload import RunResult, Workload

MILLIONS = (1, 10, 100)
PIPELINES = ("activity", "lake", "restore")
DAY_MS = 86_400_000
MEMORY_MB = 2_500  # of all processes of the command: Java with its heap of 1 GB, the driver, a Python worker a core


@dataclass(frozen=True, slots=True)
class LaterCase:
    pipeline: str
    millions: int

    @property
    def label(self) -> str:
        return f"{self.pipeline}, {self.millions} million"


class SparkLater(Workload[LaterCase]):
    name = "spark-later"
    title = "Spark: --later over 1 to 100 million records"
    warm_up = 0
    ours_alone = True
    rounds = 1
    measures = (
        Measure("records_per_s", "records/s, Spark's start and end included", "/s", Better.HIGHER, digits=0),
        Measure("cpu_s_per_million", "CPU of Spark and its workers per million", "s", Better.LOWER, digits=1),
        Measure("node_cpu_s_per_million", "CPU of the node per million", "s", Better.LOWER),
        Measure("memory_mb", "memory, all processes", "MB", Better.LOWER, value_goal=MEMORY_MB, digits=0),
        Measure("java_mb", "of which Java (heap at most 1 GB)", "MB", Better.LOWER, digits=0),
        Measure("log_gb", "the topics on disk", "GB", Better.LOWER),
        Measure("scratch_gb", "Spark's own files, the most at a time", "GB", Better.LOWER),
    )
    taken_in = (
        Measure("intake_per_s", "before: --now --once, records/s", "/s", Better.HIGHER, digits=0),
        Measure("intake_cpu_s_per_million", "the same, CPU per million", "s", Better.LOWER, digits=1),
        Measure("intake_memory_mb", "the same, memory", "MB", Better.LOWER, value_goal=MEMORY_MB, digits=0),
    )

    def cases(self) -> Sequence[LaterCase]:
        return [LaterCase(name, millions) for name in PIPELINES for millions in MILLIONS]

    def quick_cases(self) -> Sequence[LaterCase]:
        return [case for case in self.cases() if case.millions == 1]

    def chosen(self, options: Options) -> Sequence[LaterCase]:
        """Those of the sizes that were asked for; a million without asking."""
        return [case for case in self.cases() if case.millions in (options.millions or MILLIONS[:1])]

    def measures_of(self, case: LaterCase) -> Sequence[Measure]:
        return (*self.measures, *self.taken_in) if case.pipeline == "lake" else self.measures

    def run(self, server: Server, case: LaterCase, options: Options) -> RunResult:
        pipeline = _pipeline(case.pipeline)
        names = {each.name: each.name for each in pipeline.reads}
        end_ms = int(time.time()) * 1000
        with _folder() as home, _topics(server, pipeline):
            before_gb = size_gb(server.data)
            records, check = _write(server, case, names, end_ms)
            log_gb = size_gb(server.data) - before_gb
            found: RunResult = {"log_gb": log_gb}
            if case.pipeline == "lake":
                intake = run_later(server, ["lake", "--now", "--once"], home)
                found |= {
                    "intake_per_s": records / intake.seconds,
                    "intake_cpu_s_per_million": intake.cpu_s / records * 1e6,
                    "intake_memory_mb": intake.memory_mb,
                }
            span = [] if case.pipeline == "restore" else ["--from", at(end_ms - DAY_MS), "--to", at(end_ms)]
            used = run_later(server, [case.pipeline, "--later", *span], home)
            wrong = {name: used.numbers.get(name) for name, count in check.items() if used.numbers.get(name) != count}
            if wrong:
                raise RuntimeError(f"{case.label} says {wrong}, not {check}")
            return found | _figures(used, records)


def _figures(used: Used, records: int) -> RunResult:
    return {
        "seconds": used.seconds,
        "records_per_s": records / used.seconds,
        "cpu_s_per_million": used.cpu_s / records * 1e6,
        "node_cpu_s_per_million": used.node_cpu_s / records * 1e6,
        "memory_mb": used.memory_mb,
        "java_mb": used.java_mb,
        "scratch_gb": used.scratch_gb,
        "other_cores": used.other_cores,
    }


def _write(server: Server, case: LaterCase, names: dict[str, str], end_ms: int) -> tuple[int, dict[str, float]]:
    """How many records were written, and numbers that the pipeline must come to."""
    events = case.millions * 1_000_000
    if case.pipeline == "activity":
        records, once = large_activity.write(server.bootstrap, names, events, end_ms)
        return records, {name: float(count) for name, count in once.items()}
    if case.pipeline == "lake":
        records = large_shop.write(server.bootstrap, names, events, end_ms)
        return records, {"rows after": float(records)}
    records, accounts = large_accounts.write(server.bootstrap, names, events, end_ms)
    return records, {"keys": float(accounts)}


def _pipeline(name: str) -> Pipeline:
    from barnabas.pipelines.framework.registry import find

    return find(name)


@contextmanager
def _topics(server: Server, pipeline: Pipeline) -> Iterator[None]:
    topics.prepare(server.bootstrap, pipeline, str, make_inputs=True, now=True)
    try:
        yield
    finally:
        for each in (*pipeline.reads, *pipeline.writes):
            delete_topic(server.bootstrap, each.name)
            if each.streamed and each.schema is not None:
                delete_topic(server.bootstrap, each.dead_letter)


@contextmanager
def _folder() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="barnabas-bench-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)

"""One run of one pipeline, from the checks to the end: what `barnabas pipeline run` and the demo both stand on.

`opened` does everything that can fail with a clear line before anything starts: the folder, the cluster, the topics,
then Spark, which costs seconds. `Run.check` is called again and again while the queries run: a query that failed is
started again from its checkpoint (a broker that restarts, a worker that was killed), with pauses. One that fails a few
times without a batch done in between ends the run with the reason.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.model.json_values import JsonObject
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import deadletters, realtime, spark_start, topics
from barnabas.pipelines.framework.checkpoints import FOLDER, LocalCheckpoints, RemoteCheckpoints, parse
from barnabas.pipelines.framework.context import RunContext, renamed
from barnabas.pipelines.framework.failures import explain
from barnabas.pipelines.framework.outcome import Outcome
from barnabas.pipelines.framework.pipeline import Pipeline
from barnabas.pipelines.framework.run_directory import RunDirectory
from barnabas.pipelines.nearest import did_you_mean
from barnabas.pipelines.session import DEFAULT_MASTER, local_cores

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

RETRIES = 6
RETRY_S = 1.0
RETRY_MAX_S = 15.0
WORKERS_WITHIN_S = 15.0
CALM_S = 60.0  # after so long without a failure the count begins anew


@dataclass(frozen=True)
class Wanted:
    """What a person asked for."""

    pipeline: Pipeline
    bootstrap: str
    home: Path
    now: bool = True
    begin_ms: int | None = None
    end_ms: int | None = None
    once: bool = False
    master: str = DEFAULT_MASTER
    make_inputs: bool = False
    fresh: bool = False
    topics: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)
    conf: Mapping[str, str] = field(default_factory=dict)
    exactly_once: bool = False  # by micro-batches, where a pipeline has Real-Time Mode too
    checkpoints: str = ""  # shared storage for the progress; empty: in `home`

    @property
    def shared_url(self) -> str:
        """The folder of this pipeline there."""
        return f"{parse(self.checkpoints)}/{self.pipeline.name}" if self.checkpoints else ""

    def topic(self, name: str) -> str:
        return renamed(self.topics, name)

    def check(self) -> None:
        """Everything that can be known to be wrong without asking anybody."""
        pipeline = self.pipeline
        part = "now" if self.now else "later"
        if not pipeline.has(part):
            other = "--later" if self.now else "--now"
            raise PipelineError(f"{pipeline.name} has nothing to run {part}: try {other}")
        known = {option.name for option in pipeline.options}
        for name in self.options:
            if name not in known:
                has = f"It has {', '.join(sorted(known))}." if known else "It has none."
                raise PipelineError(f"{pipeline.name} has no option {name!r}. {has}{did_you_mean(name, known)}")
        usual = {topic.name for topic in (*pipeline.reads, *pipeline.writes)}
        for name in self.topics:
            if name not in usual:
                has = ", ".join(sorted(usual))
                raise PipelineError(f"{pipeline.name} has no topic {name!r}. It has {has}.{did_you_mean(name, usual)}")
            if "," in self.topics[name]:
                raise PipelineError(
                    f"--topic {name}= takes one topic, not {self.topics[name]!r}: start a run for each, with a --data"
                    " of its own where they run at the same time"
                )
        if self.checkpoints:
            parse(self.checkpoints)
        if self.begin_ms is not None and self.end_ms is not None and self.begin_ms >= self.end_ms:
            raise PipelineError("--from lies behind --to: there is nothing between them")


class Run:
    """A pipeline with its Spark, between `opened` and its end."""

    def __init__(self, wanted: Wanted, context: RunContext, house: RunDirectory, spark_s: float) -> None:
        self.wanted, self.context, self.house = wanted, context, house
        self.spark_s = spark_s  # how long Spark itself took to start
        self.state: JsonObject = {}  # what `status` shows beside the numbers: who runs, where, since when
        self.troubles: dict[str, str] = {}
        self.notice = ""  # something a person should know while it lasts
        self._failures: dict[str, list[float]] = {}
        self._again_at: dict[str, float] = {}
        self._look_for_workers_at = time.monotonic() + WORKERS_WITHIN_S

    def start_now(self) -> None:
        try:
            self.wanted.pipeline.now(self.context)
            deadletters.start(self.context)
        except PipelineError:
            raise
        except Exception as error:
            raise PipelineError(explain(error)) from error

    def later(self) -> Outcome:
        try:
            return self.wanted.pipeline.later(self.context)
        except PipelineError:
            raise
        except Exception as error:
            raise PipelineError(explain(error)) from error

    def check(self) -> bool:
        """Look after the queries. False when all of them ended by themselves, which they do with `once`."""
        running = False
        for name, before in list(self.context.waiting.items()):
            if before not in self._again_at and self.context.is_ready(name):
                self._start_again(name)
            running = True
        for name, query in list(self.context.queries.items()):
            if name in self._again_at:
                running = True
                if time.monotonic() >= self._again_at[name]:
                    del self._again_at[name]
                    self._start_again(name)
                continue
            if query.isActive:
                running = True
                continue
            error = query.exception()
            if error is not None:
                self._failed(name, explain(error), advanced=query.lastProgress is not None)
                running = True
        begun = any(self.context.has_begun(name) for name in self.context.queries)
        for name, work in self.context.beside.items():
            work.step(begun)
            if work.trouble:
                self.troubles[name] = work.trouble
        if time.monotonic() >= self._look_for_workers_at:
            self._look_for_workers_at = time.monotonic() + WORKERS_WITHIN_S
            self._look_for_workers()
        return running

    def _look_for_workers(self) -> None:
        """A cluster without room for an executor lets an application wait for ever, and says so only in its own log."""
        spark = self.context.spark.sparkContext
        conf = spark.getConf()
        if (
            local_cores(spark.master or "") is not None
            or conf.get("spark.dynamicAllocation.enabled", "false") == "true"
        ):
            return
        self.notice = ""
        try:
            executors = spark._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver itself is one
        except Exception:  # Spark has ended; the queries say why
            return
        if executors == 0:
            memory = conf.get("spark.executor.memory", "1g")
            self.notice = (
                f"no worker of {spark.master} has taken the work yet: none is there, or none has {memory}"
                " of memory and a core free. --conf spark.executor.memory=600m asks for less"
            )

    def stop(self) -> None:
        """End the queries. What a batch had begun and not committed is done again at the next start."""
        if self.context.realtime:
            spark_start.say_nothing(self.context.spark)
        for query in self.context.queries.values():
            try:
                if query.isActive:
                    query.stop()
            except Exception as error:  # Spark's or Py4J's; the other queries are stopped as well
                self.troubles["stop"] = explain(error)

    def _failed(self, name: str, why: str, *, advanced: bool) -> None:
        now = time.monotonic()
        recent = [] if advanced else [at for at in self._failures.get(name, []) if now - at < CALM_S]
        self._failures[name] = [*recent, now]
        if len(recent) >= RETRIES or _is_final(why):
            raise PipelineError(f"{name}: {why}")
        self.troubles[name] = why
        self._again_at[name] = now + min(RETRY_MAX_S, RETRY_S * 2 ** len(recent))

    def _start_again(self, name: str) -> None:
        try:
            self.context.start_again(name)
        except Exception as error:  # Spark's or Py4J's: it counts as one more failure of the query
            self._failed(name, explain(error), advanced=False)


def _is_final(why: str) -> bool:
    """Trying again would say the same."""
    return any(
        word in why for word in ("data was lost", "there is no topic", "AnalysisException", "no option", "--fresh")
    )


def _reached(wanted: Wanted, spark: SparkSession, cluster_id: str) -> tuple[RemoteCheckpoints, set[str]]:
    """The shared storage, and the queries that have their progress there."""
    try:
        shared = RemoteCheckpoints(spark, wanted.shared_url)
        shared.belongs_to(cluster_id, wanted.fresh)
        return shared, shared.queries()
    except PipelineError:
        raise
    except Exception as error:  # Java's, of the file system
        raise PipelineError(f"--checkpoints {wanted.checkpoints}: {explain(error)}") from error


def _refuse_another_begin(wanted: Wanted, place: object, queries: Set[str]) -> None:
    if wanted.now and wanted.begin_ms is not None and queries:
        raise PipelineError(
            f"{wanted.pipeline.name} has its progress in {place} and goes on from there, not from --from. "
            f"Start over with --fresh, or use another place with {realtime.place_flag(wanted)}"
        )


@contextmanager
def opened(wanted: Wanted, told: Callable[[str], object] | None = None) -> Iterator[Run]:
    """Check, take the folder, start Spark; at the end stop everything."""
    say = told or (lambda _: None)
    wanted.check()
    spark_start.is_there()
    house = RunDirectory(wanted.home, wanted.pipeline.name)
    part = "now" if wanted.now else "later"
    state = {"pid": os.getpid(), "pipeline": wanted.pipeline.name, "part": part, "begun_at": time.time()}
    state |= {"bootstrap": wanted.bootstrap, "master": wanted.master}
    with house.occupied(part):
        house.tell(part, {**state, "phase": "starting Spark", "told_at": time.time()})
        cluster_id = topics.prepare(
            wanted.bootstrap, wanted.pipeline, wanted.topic, make_inputs=wanted.make_inputs, now=wanted.now
        )
        house.belongs_to(cluster_id, wanted.fresh)
        if wanted.now:
            house.has_progress_in(wanted.shared_url)
        here = LocalCheckpoints(house.folder / FOLDER).queries()
        if wanted.shared_url:  # what lies there is seen when Spark has started
            tasks = realtime.tasks_wanted(wanted, wanted.shared_url, set(), lambda _: None)
        else:
            _refuse_another_begin(wanted, house.folder, here)
            tasks = realtime.tasks_wanted(wanted, house.folder, here, say)
        say("starting Spark")
        begun = time.monotonic()
        spark, ours, tasks = spark_start.start(wanted, house.folder / "spark.log", tasks, say)
        try:
            shared = None
            if wanted.now and wanted.shared_url:
                shared, here = _reached(wanted, spark, cluster_id)
                _refuse_another_begin(wanted, shared.url, here)
                tasks = min(tasks, realtime.tasks_wanted(wanted, shared.url, here, say))
            realtime.refuse_other_mode(wanted, here, tasks)
            context = RunContext(
                wanted.pipeline,
                spark,
                wanted.bootstrap,
                house.folder.absolute(),
                wanted.begin_ms,
                wanted.end_ms,
                wanted.once,
                wanted.topics,
                wanted.options,
                wanted.source,
                realtime=tasks > 0,
                shared=shared,
            )
            run = Run(wanted, context, house, time.monotonic() - begun)
            run.state = state
            try:
                yield run
            finally:
                run.stop()
        finally:
            if ours:
                spark.stop()

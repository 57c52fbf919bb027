"""The demo's pipeline: Spark in a thread beside the screen, first the online half, then the offline one.

Spark takes seconds to start: it does so while the node starts, and the stream flows meanwhile. Where it is still to be
fetched, that is done here first. Where it cannot run (no Java, no pyspark, a download that failed) the demo goes on
without it, and `missing` is the one line that says why and what to do.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.demo.pace import Pace
from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.cli.demo.fetch import Fetch
    from barnabas.pipelines.framework.outcome import Outcome
    from barnabas.pipelines.framework.progress.watching import Shown, Watch
    from barnabas.pipelines.framework.running import Run, Wanted

CHECK_S = 0.2
CATCH_UP_S = 8.0
CLOSE_S = 60.0


class SparkStory:
    """Phases, in order: fetching, starting, now, later, done; or missing. The screen reads the fields."""

    def __init__(self, home: Path, fetch: Fetch | None = None) -> None:
        self.fetch = fetch
        self.phase = "starting" if fetch is None else "fetching"
        self.missing = ""
        self.missing_since = 0.0
        self.made = self.begun = time.monotonic()  # begun: when Spark was there to be started
        self.watch: Watch | None = None
        self.outcome: Outcome | None = None
        self.folder = home / "activity"
        self.recommendations = 0
        self.pace = Pace()
        self.first_s: float | None = None  # from `begun` to the first recommendation of a live event
        self._first_ms = 0  # when that was
        self.notice = ""
        self.sent_ms: Callable[[str], int | None] = lambda _: None  # when an event of the stream was sent, by its id
        self.recent: deque[tuple[int, str, float | None]] = deque(maxlen=50)
        self._bootstrap, self._home = "", home
        self._spark: SparkSession | None = None
        shutil.rmtree(self.folder, ignore_errors=True)  # of the last demo
        self._node_is_up = threading.Event()
        self._later, self._ends = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)
        self._thread.start()

    def go_on_with(self, bootstrap: str) -> None:
        """The node is up and has its topics."""
        self._bootstrap = bootstrap
        self._node_is_up.set()

    def go_on_to_later(self) -> None:
        self._later.set()

    def close(self) -> None:
        self._ends.set()
        if self.fetch is not None:
            self.fetch.stop()
        self._node_is_up.set()
        self._later.set()
        deadline = time.monotonic() + CLOSE_S
        while self.alive() and time.monotonic() < deadline:
            if self.phase == "later":
                self._cancel()
            self._thread.join(CHECK_S)

    def _cancel(self) -> None:
        """The work that is under way, which nobody waits for any more."""
        if self._spark is not None:
            with suppress(Exception):  # Spark may be ending
                self._spark.sparkContext.cancelAllJobs()

    def alive(self) -> bool:
        return self._thread.is_alive()

    def fetch_s(self) -> float:
        """How long fetching has taken until now, or took."""
        return (time.monotonic() if self.phase == "fetching" else self.begun) - self.made

    def _tell(self) -> None:
        from barnabas.client.errors import BarnabasError

        try:
            if self.fetch is not None:
                self._fetch(self.fetch)
            if not self._ends.is_set():
                self._run()
        except (PipelineError, BarnabasError) as error:
            self._is_missing(str(error))
        except Exception as error:  # Spark's own: the demo goes on without the pipeline and says why
            self._is_missing(f"{type(error).__name__}: {error}")

    def _is_missing(self, why: str) -> None:
        self.missing, self.missing_since, self.phase = why, time.monotonic(), "missing"

    def _fetch(self, fetch: Fetch) -> None:
        try:
            fetch.run()
            if why := unavailable():
                raise PipelineError(why)
        finally:
            self.begun = time.monotonic()
        self.phase = "starting"

    def _run(self) -> None:
        from barnabas.pipelines.activity import PIPELINE
        from barnabas.pipelines.framework import realtime
        from barnabas.pipelines.framework.running import Wanted

        # The stream adds to the table once a minute; the later half brings it up to its own end.
        options = {"reload": "yes"}
        wanted = Wanted(PIPELINE, "", self._home, make_inputs=True, fresh=True, options=options)
        if why := realtime.missing(wanted):
            self.notice = f"no Real-Time Mode, micro-batches instead: {why}"
            wanted = replace(wanted, exactly_once=True)  # it is known now, and need not be asked again
        self._spark = spark = self._start_spark(wanted)
        try:
            self._node_is_up.wait()
            if not self._ends.is_set():
                self._run_on(replace(wanted, bootstrap=self._bootstrap))
        finally:
            spark.stop()
        self.phase = "done"

    def _start_spark(self, wanted: Wanted) -> SparkSession:
        """Before there is a node: its topics will have as many partitions as the pipeline gives them."""
        from barnabas.pipelines.framework import spark_start

        self.folder.mkdir(parents=True, exist_ok=True)
        partitions = sum(each.partitions for each in wanted.pipeline.reads if each.streamed)
        tasks = 0 if wanted.exactly_once else partitions + wanted.pipeline.realtime
        spark, _, _ = spark_start.start(wanted, self.folder / "spark.log", tasks, self._note)
        return spark

    def _run_on(self, wanted: Wanted) -> None:
        from barnabas.pipelines.framework.progress.watching import Watch
        from barnabas.pipelines.framework.running import opened

        with opened(wanted, self._note) as run:
            with Watch(run) as watch:
                self.watch = watch
                watch.on_result = self._recommended
                run.start_now()
                self.phase = "now"
                self._until_later(run, watch)
                run.stop()
            if not self._ends.is_set():
                self.phase = "later"
                self.outcome = run.later()

    def _note(self, words: str) -> None:
        if "micro-batches" in words:
            self.notice = words

    def _until_later(self, run: Run, watch: Watch) -> None:
        while not self._later.is_set():
            run.check()
            watch.look()
            self._later.wait(CHECK_S)
        deadline = time.monotonic() + CATCH_UP_S
        while not self._ends.is_set() and time.monotonic() < deadline:  # let the stream finish what was written
            run.check()
            backlog = all(work.done or work.failed for work in run.context.beside.values())
            if backlog and (run.context.realtime or watch.look().lag_records == 0):
                break
            time.sleep(CHECK_S)

    def _recommended(self, shown: Shown) -> None:
        from barnabas.pipelines.activity import PIPELINE

        value = json.loads(shown.value)
        self.recommendations += 1
        delay_ms = None
        sent_ms = self.sent_ms(value["interest"])
        if sent_ms is not None and value["posted"] <= value["time"]:  # else it waited for the job
            delay_ms = max(0.0, float(shown.at_ms - sent_ms))
            if self.first_s is None:
                self.first_s, self._first_ms = time.monotonic() - self.begun, shown.at_ms
            if sent_ms >= self._first_ms:  # what was sent earlier waited for Spark to start
                self.pace.add(time.monotonic(), delay_ms)
        self.recent.append((shown.at_ms, PIPELINE.tell(shown.topic, value), delay_ms))


def unavailable() -> str:
    """Why Spark cannot run here, in one line; empty when it can."""
    import importlib.util

    from barnabas.pipelines.java import find_java

    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'barnabas[spark]'"
    try:
        find_java()
    except PipelineError as error:
        return str(error)
    return ""

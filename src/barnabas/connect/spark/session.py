"""The Spark of this process: started when the first connector needs it, and started again when its Java has ended.

A round is a job with one task, so each ends by itself, and a slow one holds up no other. The text goes to a function
that is known by its name: the machines of the cluster have this package installed, as for every use of Spark here.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from typing import TYPE_CHECKING

from barnabas.client.common.profile import VARIABLE as PROFILE_VARIABLE
from barnabas.connect.definition.references import resolved
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.spark.settings import SparkSettings

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger("barnabas.connect")

Task = Callable[[Iterable[str]], Iterable[str]]

ENDED = "Spark has ended"
LATE = "Spark has not begun or not ended a round in time: it has no executors, or all its cores are busy"
_LATE_S = 90.0  # a round whose writers gather takes up to a minute longer
_LOCAL_TASKS = 16  # at least so many at a time without a cluster: most of them wait for another system
_ROUNDS_MOST = 512
_FEW_CORES = 4
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.python.task.killTimeout": "100ms",  # of a round that is cancelled: what it works on goes to somebody else
}
_DIES_S = 0.5  # longer than that, until a cancelled task is gone
_SLACK_S = 6.0  # what a round takes beyond its time: it is started, and writes what it has
_GRACE_S = 2.0
_GRACE_MOST_S = 12.0  # a worker waits for 20 s
# Java only hands out tasks here: its quick compiler is enough, and a collector with threads of its own is not.
_SMALL_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"

_lock = threading.Lock()
_settings = SparkSettings()
_running: Spark | None = None


def use(settings: SparkSettings) -> None:
    """What the next start takes."""
    global _settings
    _settings = settings


def started() -> Spark:
    """Raises BadOption where there is no Spark or no Java, Unavailable where it does not start."""
    global _running
    with _lock:
        if _running is not None and not _running.is_alive():
            _running.forget()
            _running = None
        if _running is None:
            _running = Spark(_settings)
        return _running


def check() -> None:
    """Raises Unavailable when Spark has ended by itself. Whoever asks for it next starts it again."""
    with _lock:
        if _running is not None and not _running.is_alive():
            raise Unavailable(ENDED)


def stop() -> None:
    global _running
    with _lock:
        ending, _running = _running, None
        if ending is not None:
            ending.stop()


class Spark:
    def __init__(self, settings: SparkSettings) -> None:
        self._master = settings.master or _local_master()
        self._context = _context(self._master, settings)
        self.cores = _cores(self._master, self._context)
        self._threads = ThreadPoolExecutor(_ROUNDS_MOST, thread_name_prefix="spark-round")

    def round(self, description: str, seconds: float, task: Task, text: str) -> Round:
        try:
            return Round(self._context, self._threads, (description, seconds), task, text)
        except RuntimeError:  # another connector has found out, and starts it again
            raise Unavailable(ENDED) from None

    def is_alive(self) -> bool:
        try:
            return not self._context._jsc.sc().isStopped()
        except Exception as problem:  # py4j's own of many kinds: nobody answers
            log.debug("Spark: %s", problem)
            return False

    def stop(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        try:
            self._context.stop()
        except Exception as problem:  # it has ended by itself
            log.debug("stopping Spark: %s", problem)

    def forget(self) -> None:
        """Java has ended: what PySpark keeps of it would be in the way of another."""
        from pyspark import SparkContext

        self.stop()
        SparkContext._active_spark_context = None
        SparkContext._gateway = None
        SparkContext._jvm = None


class Round:
    def __init__(
        self, context: SparkContext, threads: ThreadPoolExecutor, what: tuple[str, float], task: Task, text: str
    ) -> None:
        self._context = context
        self._group = f"barnabas-connect-{uuid.uuid4().hex}"
        self._description, seconds = what
        self._due = time.monotonic() + seconds + _SLACK_S
        self._future: Future[str] = threads.submit(self._run, task, text)

    def _run(self, task: Task, text: str) -> str:
        self._context.setJobGroup(self._group, self._description, interruptOnCancel=True)
        found: list[str] = self._context.parallelize([text], 1).mapPartitions(task).collect()
        return found[0]

    @property
    def has_ended(self) -> bool:
        return self._future.done()

    @property
    def is_late(self) -> bool:
        return not self.has_ended and time.monotonic() > self._due + _LATE_S

    def wait(self, timeout_s: float) -> bool:
        """Whether it has ended."""
        try:
            self._future.exception(timeout_s)
        except NotYet:
            return False
        return True

    def answer(self) -> str:
        """Of a round that has ended. Raises Unavailable when Spark could not run it."""
        problem = self._future.exception()
        if problem is not None:
            from barnabas.pipelines.framework.failures import explain

            raise Unavailable(f"Spark: {explain(problem)}") from None
        return self._future.result()

    def end(self) -> bool:
        """Whether it has ended by itself, as it does when its time is over. Else it is ended: its process is killed,
        and whoever works on the same next finds what it had not finished."""
        now = time.monotonic()
        if self.wait(min(max(now + _GRACE_S, self._due), now + _GRACE_MOST_S) - now):
            return True
        self.cancel()
        return False

    def cancel(self) -> None:
        """Returns when the task is gone, as far as Spark can reach it."""
        try:
            self._context.cancelJobGroup(self._group)
        except Exception as problem:  # Spark has ended by itself
            log.debug("cancelling a round: %s", problem)
        time.sleep(_DIES_S)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """py4j logs each call that finds Java gone to the root logger, stack and all, beside raising it."""
    return f"{os.sep}py4j{os.sep}" not in record.pathname


def _local_master() -> str:
    from barnabas.pipelines.session import local_cores

    return f"local[{max(_LOCAL_TASKS, local_cores('local[*]') or 1)},4]"


def _context(master: str, settings: SparkSettings) -> SparkContext:
    from barnabas.pipelines.errors import PipelineError
    from barnabas.pipelines.framework.failures import explain
    from barnabas.pipelines.jvm import LOG_LEVEL
    from barnabas.pipelines.session import context, local_cores

    conf: dict[str, str] = dict(_DEFAULTS)
    if local_cores(master) is not None and (local_cores("local[*]") or 1) <= _FEW_CORES:
        conf["spark.driver.defaultJavaOptions"] = _SMALL_JAVA
    if PROFILE_VARIABLE in os.environ:
        conf[f"spark.executorEnv.{PROFILE_VARIABLE}"] = os.environ[PROFILE_VARIABLE]
    conf |= {name: resolved(value) for name, value in settings.conf.items()}
    conf["spark.speculation"] = "false"  # a partition is written by one task at a time
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it tells of each connection
    logging.root.addFilter(_is_not_of_py4j)
    try:
        made = context("barnabas-connect", master=master, conf=conf)
    except PipelineError as problem:
        raise BadOption(str(problem)) from None
    except Exception as problem:  # Spark's and py4j's own, of many kinds
        raise Unavailable(f"Spark does not start with master {master}: {explain(problem)}") from None
    if LOG_LEVEL not in conf:
        made.setLogLevel("OFF")  # what goes wrong in a round is told by us, in a line
    return made


def _cores(master: str, context: SparkContext) -> int:
    from barnabas.pipelines.framework.spark_start import cluster_cores
    from barnabas.pipelines.session import local_cores

    local = local_cores(master)
    if local is None:
        return cluster_cores(context)
    return min(local, local_cores("local[*]") or 1)

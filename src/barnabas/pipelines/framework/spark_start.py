"""The Spark of a run: the settings that keep a micro-batch cheap, and where its Java process writes its log."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipelines import class_archive, s3a
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import realtime
from barnabas.pipelines.framework.context import SHUFFLE_PARTITIONS
from barnabas.pipelines.framework.failures import explain
from barnabas.pipelines.session import CORES_VARIABLE, has_connector, local_cores, register

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from barnabas.pipelines.framework.running import Wanted

FEW_CORES = 4
EXECUTORS_WITHIN_S, SETTLE_S, POLL_S = 10.0, 1.0, 0.1
JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
UNKNOWN_CORES = 8  # when no executor has come in time
# While a live query starts, Java's thorough compiler takes CPU from the very records that wait; without it, the query
# falls behind at 5,000 events a second. So it compiles only what has run six times as often as Java usually asks for.
# Measured on two cores: the first result after 8.6 s and 12 s of CPU, then 8,100 results a second 0.14 s late
# in the middle; with the quick compiler alone 7.1 s, 8 s, then 6,000 to 7,900 results a second, 4 to 7 s late.
LATE_COMPILER = (
    "-XX:Tier4InvocationThreshold=30000 -XX:Tier4MinInvocationThreshold=5000 -XX:Tier4CompileThreshold=60000"
)

SPARK_CONF = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",  # said here, Java writes straight to the stderr it was born with: our spark.log
    "spark.sql.streaming.stopTimeout": "30s",
    "spark.sql.streaming.numRecentProgressUpdates": "30",
    "spark.sql.streaming.minBatchesToRetain": "20",  # several batches a second: a hundred old states are many files
    # A micro-batch writes some twenty small files, and Java without Hadoop's native library starts a `chmod` for each,
    # and four times `readlink` when it renames one by its newer interface: so the older one, which takes a quarter off
    # a micro-batch. And no second file with a checksum beside each, neither Spark's nor Hadoop's
    # (write_no_checksums, which reaches this process only).
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}


def is_there() -> None:
    """Before topics are made and folders taken: without Spark or Java there is nothing to do."""
    if importlib.util.find_spec("pyspark") is None:
        raise PipelineError("pyspark is not installed: pip install 'barnabas[spark]'")
    from barnabas.pipelines.java import find_java

    find_java()


def start(wanted: Wanted, log: Path, tasks: int, say: Callable[[str], object]) -> tuple[SparkSession, bool, int]:
    """The session, and whether it is ours to stop: a program may have one already, which is used as it is. `tasks` is
    how many Real-Time Mode needs; the last of the three is 0 where the session is not made for it.

    What Spark's Java process writes to its stderr, as long as it lives, goes into a file.
    """
    from pyspark.sql import SparkSession

    from barnabas.pipelines.jvm import hush_loggers, write_no_checksums
    from barnabas.pipelines.session import session

    hush_loggers()
    running = SparkSession.getActiveSession()
    ours = running is None
    ours_here = with_archive(for_few_cores(wanted, live=tasks > 0), wanted, live=tasks > 0)
    conf = {**SPARK_CONF, **(realtime.SETTINGS if tasks else {}), **ours_here, **wanted.conf}
    if wanted.now and wanted.shared_url.startswith(s3a.SCHEME) and ours:
        conf |= s3a.settings(wanted.conf)
    if running is not None and tasks and not has_connector(running):
        say("no Real-Time Mode, micro-batches instead: the session that runs has no Kafka connector")
        tasks = 0
    try:
        with _stderr_into(log):
            made = session(
                f"barnabas-{wanted.pipeline.name}",
                master=realtime.master_with(wanted.master, tasks),
                connector=tasks > 0,
                bootstrap=wanted.bootstrap or None,
                conf=conf,
            )
        if ours:
            write_no_checksums(made)
            use_all_cores(made, wanted)
        too_few = realtime.lacks(made, tasks) if tasks else ""
        if too_few:
            say(f"no Real-Time Mode, micro-batches instead: {too_few}")
        return made, ours, 0 if too_few else tasks
    except PipelineError:
        raise
    except Exception as error:
        raise PipelineError(f"Spark did not start: {explain(error)}. Its log is {log}") from error


def say_nothing(spark: SparkSession) -> None:
    """A query of Real-Time Mode that is stopped leaves a stack trace in the log for each task: its shuffle's writers
    went before its readers. Nothing is wrong with that, and what was wrong before has been said."""
    try:
        spark.sparkContext.setLogLevel("OFF")
    except Exception:  # Spark has ended by itself
        return


def for_few_cores(wanted: Wanted, live: bool = False) -> dict[str, str]:
    """On a machine that shares its cores: a garbage collector without threads of its own, unless somebody chose one,
    and for a stream half as many tasks in a stage as there are cores, for a task costs more than the few rows of a
    micro-batch. In Real-Time Mode (`live`) Java's thorough compiler comes later than usual, see LATE_COMPILER."""
    cores = local_cores(wanted.master)
    if cores is None:
        return {}
    conf = {f"spark.executorEnv.{CORES_VARIABLE}": str(cores)}  # a master with more threads has no more cores
    chosen = _chosen(wanted)
    if cores <= FEW_CORES and not any("GC" in options for options in chosen):
        late = f" {LATE_COMPILER}" if live and not any("Tier" in options for options in chosen) else ""
        conf[JAVA_OPTIONS] = "-XX:+UseSerialGC" + late
    if wanted.now:
        conf["spark.sql.shuffle.partitions"] = str(max(1, cores // 2))
    return conf


def with_archive(conf: dict[str, str], wanted: Wanted, live: bool) -> dict[str, str]:
    """With Spark's classes from the archive of runs of this kind before, on one machine."""
    import pyspark

    from barnabas.pipelines.java import find_java

    if local_cores(wanted.master) is None or not class_archive.may_be_used(_chosen(wanted)):
        return conf
    what = f"{wanted.pipeline.name} {'live' if live else 'now' if wanted.now else 'later'}"
    archive = class_archive.java_options(find_java(), Path(pyspark.__file__).parent, what)
    return {**conf, JAVA_OPTIONS: f"{conf.get(JAVA_OPTIONS, '')} {archive}".strip()}


def _chosen(wanted: Wanted) -> tuple[str, ...]:
    """Where a person may have given options to Java."""
    return (*wanted.conf.values(), os.environ.get("JAVA_TOOL_OPTIONS", ""), os.environ.get("JDK_JAVA_OPTIONS", ""))


def use_all_cores(spark: SparkSession, wanted: Wanted) -> None:
    """On a cluster as many shuffle partitions as it has cores, in place of Spark's 200: each costs a task and a state
    store with every micro-batch. A query keeps the number of its first start in its checkpoint. And our source cuts
    what it reads for the cluster's cores, in place of those of the machine that plans it."""
    if local_cores(wanted.master) is not None:
        return
    cores = str(cluster_cores(spark.sparkContext))
    if SHUFFLE_PARTITIONS not in wanted.conf:
        spark.conf.set(SHUFFLE_PARTITIONS, cores)
    if f"spark.executorEnv.{CORES_VARIABLE}" not in wanted.conf:
        spark.sparkContext.environment[CORES_VARIABLE] = cores
        register(spark)  # Spark keeps the environment of the moment


def cluster_cores(context: SparkContext, wait_s: float = EXECUTORS_WITHIN_S, enough: int = 1) -> int:
    """What the settings say the application gets, else the cores of the executors that have come when no more come for
    a moment. Where more are needed (`enough`), they may take as long as the first one."""
    conf = context.getConf()
    told = conf.get("spark.cores.max") or ""
    if told.isdigit():
        return max(1, int(told))
    executors, each = conf.get("spark.executor.instances") or "", conf.get("spark.executor.cores") or "1"
    if executors.isdigit() and each.isdigit():
        return max(1, int(executors) * int(each))
    deadline, found = time.monotonic() + wait_s, UNKNOWN_CORES
    while time.monotonic() < deadline:
        executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver itself is one
        time.sleep(SETTLE_S if executors else POLL_S)  # those of several workers come one after the other
        if executors and executors == context._jsc.sc().getExecutorMemoryStatus().size() - 1:
            found = max(1, int(context.defaultParallelism))
            if found >= enough:
                break
    return found


@contextmanager
def _stderr_into(log: Path) -> Iterator[None]:
    """A child that is started meanwhile keeps the file as its stderr; ours is as before when this ends."""
    with log.open("w") as file:
        before = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)

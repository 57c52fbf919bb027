"""The Spark of a run: the settings that keep a micro-batch cheap, and where its Java process writes its log."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework.failures import explain
from barnabas.pipelines.session import local_cores

if TYPE_CHECKING:
    from barnabas.pipelines.framework.running import Wanted

FEW_CORES = 4

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


def start(wanted: Wanted, log: Path) -> tuple[Any, bool]:
    """The session, and whether it is ours to stop: a program may have one already, which is used as it is.

    What Spark's Java process writes to its stderr, as long as it lives, goes into a file.
    """
    from pyspark.sql import SparkSession

    from barnabas.pipelines.jvm import hush_loggers, write_no_checksums
    from barnabas.pipelines.session import session

    hush_loggers()
    ours = SparkSession.getActiveSession() is None
    conf = {**SPARK_CONF, **for_few_cores(wanted), **wanted.conf}
    try:
        with _stderr_into(log):
            made = session(
                f"barnabas-{wanted.pipeline.name}",
                master=wanted.master,
                connector=wanted.connector,
                bootstrap=wanted.bootstrap,
                conf=conf,
            )
        if ours:
            write_no_checksums(made)
        return made, ours
    except PipelineError:
        raise
    except Exception as error:
        raise PipelineError(f"Spark did not start: {explain(error)}. Its log is {log}") from error


def for_few_cores(wanted: Wanted) -> dict[str, str]:
    """On a machine that shares its cores: a garbage collector without threads of its own, unless somebody chose one,
    and for a stream half as many tasks in a stage as there are cores, for a task costs more than the few rows of a
    micro-batch."""
    cores = local_cores(wanted.master)
    if cores is None:
        return {}
    conf = {}
    chosen = (*wanted.conf.values(), os.environ.get("JAVA_TOOL_OPTIONS", ""), os.environ.get("JDK_JAVA_OPTIONS", ""))
    if cores <= FEW_CORES and not any("GC" in options for options in chosen):
        conf["spark.driver.defaultJavaOptions"] = "-XX:+UseSerialGC"
    if wanted.now:
        conf["spark.sql.shuffle.partitions"] = str(max(1, cores // 2))
    return conf


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

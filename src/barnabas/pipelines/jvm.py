"""Starting Spark's Java so that a terminal stays readable: what it always says at its start is left out.

Spark's driver writes to our stderr. Its own settings come too late for the first lines (log4j's and the JVM's), so the
JVM gets a pipe, and a thread passes on what is worth reading. Whoever sets `spark.log.level` gets everything.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

LOG_LEVEL = "spark.log.level"
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_NOISE = re.compile(
    r"WARNING: |Picked up JAVA_TOOL_OPTIONS"
    r"|Using Spark's default log4j profile|Setting default log level|To adjust logging level|Setting Spark log level"
    r"|\d\d/\d\d/\d\d \d\d:\d\d:\d\d WARN "
)


def start_jvm(settings: Mapping[str, str]) -> None:
    """Makes the JVM that the next SparkContext of this process uses; nothing when there is one already."""
    from pyspark import SparkContext, java_gateway
    from pyspark.errors import PySparkRuntimeError

    if SparkContext._gateway is not None:
        return
    conf = _Settings(settings)
    reading, writing = os.pipe()
    threading.Thread(target=_pass_on, args=(reading,), name="spark-stderr", daemon=True).start()
    try:
        launch: Callable[..., Any] = java_gateway.launch_gateway  # gives py4j's gateway, which has no types
        SparkContext._gateway = launch(conf, {"stderr": writing})
    except PySparkRuntimeError:
        raise PipelineError(f"Java did not start Spark (JAVA_HOME is {os.environ.get('JAVA_HOME')})") from None
    finally:
        os.close(writing)
    SparkContext._jvm = SparkContext._gateway.jvm


class _Settings:
    """All that `launch_gateway` asks of a SparkConf; a real one needs the JVM that is not there yet."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings

    def getAll(self) -> list[tuple[str, str]]:
        return list(self._settings.items())


def hush_loggers() -> None:
    """PySpark logs every failed query to stderr, stack and all, beside raising it."""
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def hush_the_end(context: SparkContext) -> None:
    """Spark's JVM may close the line to PySpark's accumulators before PySpark stops reading it. That is the end of a
    session and no error, but PySpark prints a traceback for it. Whatever else goes wrong there is still printed."""
    server = getattr(context, "_accumulatorServer", None)
    if server is None:
        return
    told = server.handle_error

    def handle_error(request: object, address: object) -> None:
        if not isinstance(sys.exc_info()[1], (EOFError, ConnectionError)):
            told(request, address)

    server.handle_error = handle_error


def write_no_checksums(spark: SparkSession) -> None:
    """No `.crc` file beside each file that Spark writes to a disk of this machine. There is no setting for it that
    leaves RocksDB working, but Hadoop keeps one object for all local files of a process, and that can be told."""
    java = spark.sparkContext._jvm
    assert java is not None
    files = java.org.apache.hadoop.fs.FileSystem
    files.getLocal(spark.sparkContext._jsc.hadoopConfiguration()).setWriteChecksum(False)


def is_noise(line: str) -> bool:
    return _NOISE.match(line) is not None


def _pass_on(reading: int) -> None:
    with os.fdopen(reading, errors="replace") as lines:
        for line in lines:
            if not is_noise(line):
                sys.stderr.write(line)
                sys.stderr.flush()

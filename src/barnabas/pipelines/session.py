"""A SparkSession that knows `format("barnabas")`, made so that it works on a bare machine.

What it sets and why: Java is found (java.py); PYSPARK_PYTHON is this Python, for Spark would take any `python3` it
meets; SPARK_LOCAL_IP is the loopback for local masters, for Spark would look its own host name up; times are UTC; as
many shuffle partitions as cores on a local master, for Spark's 200 make a small query slow; filters are pushed down;
rows go to Python 4 MiB at a time (Spark: 64), which stay in a processor's cache on their way; the Python processes that
Spark starts import the installed PySpark, not Spark's zip of it (spark_home.py).
A `conf` of the caller wins over all of it.

On a cluster (`master="spark://..."`) the workers need the same Python environment as the driver: this package and its
dependencies (pyarrow, confluent-kafka) are native wheels that Spark cannot ship. It is looked for where this Python is;
`conf={"spark.pyspark.python": "/path/to/python"}` names another place, which has to be there on the driver's machine
too, for that is where reads are planned.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.java import find_java
from barnabas.pipelines.jvm import LOG_LEVEL, hush_loggers, hush_the_end, start_jvm
from barnabas.pipelines.spark_home import quick_spark_home
from barnabas.pipelines.write_mode import append_by_default

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

PYTHON = "spark.pyspark.python"
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
APP_VARIABLE = "BARNABAS_SPARK_APP"  # what a query without a group of its own is called: source/options.py
CORES_VARIABLE = "BARNABAS_SPARK_CORES"  # how many splits use every core: source/planning.py
BOOTSTRAP_VARIABLE = "BARNABAS_BOOTSTRAP"
DEFAULT_MASTER = "local[*,4]"  # a task is tried four times, as on a cluster; else one killed worker fails a query
CONNECTOR_JAR = "spark-sql-kafka-0-10"


def session(
    app: str = "barnabas",
    *,
    master: str = DEFAULT_MASTER,
    connector: bool = False,
    bootstrap: str | None = None,
    conf: Mapping[str, object] | None = None,
) -> SparkSession:
    """The SparkSession, a new one or the one that runs already; `connector=True` adds Spark's own `format("kafka")`."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise PipelineError("pyspark is not installed: pip install 'barnabas[spark]'") from None
    running = SparkSession.getActiveSession()
    if running is not None:
        if connector:
            refuse_without_connector(running)
        return register(running)

    python_is_ours = _prepare(master, conf or {})
    settings = _defaults(app, master, bootstrap)
    if connector:
        from barnabas.pipelines.connector import connector_jars

        settings["spark.jars"] = ",".join(str(jar) for jar in connector_jars())
    given = {name: _text(value) for name, value in (conf or {}).items()}
    if "spark.jars" in given and "spark.jars" in settings:
        given["spark.jars"] = f"{settings['spark.jars']},{given['spark.jars']}"
    settings.update(given)

    with quick_spark_home(master, settings, python_is_ours):
        if LOG_LEVEL not in (conf or {}):
            start_jvm(settings)
            hush_loggers()
        builder = SparkSession.builder.appName(app).master(master)
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
    hush_the_end(spark.sparkContext)
    return register(spark)


def context(app: str, *, master: str = DEFAULT_MASTER, conf: Mapping[str, str] | None = None) -> SparkContext:
    """Spark without SQL and without our format, for whoever has tasks of their own run: half the CPU of a session's
    start (measured: 7 and 12.5 s of a busy core)."""
    try:
        from pyspark import SparkConf, SparkContext
    except ImportError:
        raise PipelineError("pyspark is not installed: pip install 'barnabas[spark]'") from None
    python_is_ours = _prepare(master, conf or {})
    settings = {**_defaults(app, master, None), **(conf or {})}
    with quick_spark_home(master, settings, python_is_ours):
        if LOG_LEVEL not in (conf or {}):
            start_jvm(settings)
            hush_loggers()
        made = SparkContext(conf=SparkConf().setAppName(app).setMaster(master).setAll(list(settings.items())))
    hush_the_end(made)
    return made


def _prepare(master: str, conf: Mapping[str, object]) -> bool:
    """The environment of Spark's Java; whether the Python of its workers is this one."""
    if PYTHON in conf:  # PySpark looks only at the variable, where it is not started by spark-submit
        os.environ["PYSPARK_PYTHON"] = str(conf[PYTHON])
    os.environ["JAVA_HOME"] = str(find_java())
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return os.environ.setdefault("PYSPARK_PYTHON", sys.executable) == sys.executable


def register(spark: SparkSession) -> SparkSession:
    """Make `format("barnabas")` known to a session that somebody else made."""
    from barnabas.pipelines.datasource import BarnabasDataSource

    append_by_default()
    spark.conf.set(PUSHDOWN, "true")
    try:
        spark.dataSource.register(BarnabasDataSource)
    except Exception as error:  # Spark's class for it differs between a session of its own and one over Connect
        if "DATA_SOURCE_ALREADY_EXISTS" not in str(error):
            raise
        with active(spark):
            spark.dataSource.register(BarnabasDataSource)
    return spark


@contextmanager
def active(spark: SparkSession) -> Iterator[None]:
    """This session is the active one of this thread. Whether the name of a format is taken, and what it stands for in a
    write, Spark asks of the active session, not of the one that registers or writes: where a program has two
    (`spark.newSession()`), or in a thread that has none, it would be the wrong one."""
    from pyspark.sql import SparkSession

    of_java = SparkSession._get_j_spark_session_class(spark._jvm)
    before = of_java.getActiveSession()
    of_java.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            of_java.setActiveSession(before.get())
        else:
            of_java.clearActiveSession()


def refuse_without_connector(spark: SparkSession) -> None:
    """A session that runs cannot be given jars any more."""
    if not has_connector(spark):
        raise PipelineError(
            "a Spark session runs already and was made without Spark's Kafka connector: stop it first (spark.stop()),"
            " or give connector=True where it is made"
        )


def has_connector(spark: SparkSession) -> bool:
    given = (spark.conf.get(name, "") or "" for name in ("spark.jars", "spark.jars.packages"))
    return any(CONNECTOR_JAR in names for names in given)


def local_cores(master: str) -> int | None:
    """2 for local[2], what the machine has for local[*] and local[*,4], None for a cluster."""
    match = re.fullmatch(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?", master)
    if match is None:
        return None
    if match[1] == "*":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(match[1] or 1)


def _defaults(app: str, master: str, bootstrap: str | None) -> dict[str, str]:
    settings = {
        LOG_LEVEL: "ERROR",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        PUSHDOWN: "true",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(4 << 20),
        f"spark.executorEnv.{APP_VARIABLE}": app,
    }
    if bootstrap is not None:
        settings[f"spark.executorEnv.{BOOTSTRAP_VARIABLE}"] = bootstrap
    cores = local_cores(master)
    if cores is not None:
        settings["spark.sql.shuffle.partitions"] = str(cores)
        settings[f"spark.executorEnv.{CORES_VARIABLE}"] = str(cores)
        settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    return settings


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

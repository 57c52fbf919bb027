"""A query that fails is started again, and one that gets nowhere ends the run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import running, spark_start
from barnabas.pipelines.framework.running import RETRIES, Run

NAME = "BARNABAS_SPARK_CORES"


class Queries:
    """A context with one query that fails each time, with or without a batch done before."""

    def __init__(self, *, advances: bool) -> None:
        self.waiting: dict[str, str] = {}
        self.beside: dict[str, Any] = {}
        failed = SimpleNamespace(
            isActive=False,
            exception=lambda: ValueError("a Python worker died"),
            lastProgress={"batchId": 7} if advances else None,
        )
        self.queries = {"only": failed}
        self.starts = 0
        conf = SimpleNamespace(get=lambda _, usual: usual)
        self.spark = SimpleNamespace(sparkContext=SimpleNamespace(master="local[2]", getConf=lambda: conf))

    def start_again(self, name: str) -> None:
        self.starts += 1

    def has_begun(self, name: str) -> bool:
        return False


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    made = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


def run_of(context: Any) -> Run:
    nothing: Any = None
    return Run(nothing, context, nothing, 0.0)


def pass_time(run: Run, clock: SimpleNamespace, seconds: float) -> None:
    until = clock.now + seconds
    while clock.now < until:
        assert run.check()
        clock.now += 0.5


def test_a_query_that_gets_on_is_started_again_as_often_as_it_fails(clock: SimpleNamespace) -> None:
    context = Queries(advances=True)
    pass_time(run_of(context), clock, 60)
    assert context.starts > 3 * RETRIES


def test_a_query_that_gets_nowhere_ends_the_run(clock: SimpleNamespace) -> None:
    context = Queries(advances=False)
    with pytest.raises(PipelineError, match=r"only: .*a Python worker died"):
        pass_time(run_of(context), clock, 600)
    assert context.starts == RETRIES


class Cluster:
    """A cluster that gives so many executors, as Spark's Java would tell it."""

    def __init__(self, master: str, executors: int) -> None:
        self.waiting: dict[str, str] = {}
        self.beside: dict[str, Any] = {}
        self.queries: dict[str, Any] = {}
        status = SimpleNamespace(size=lambda: 1 + executors)
        java = SimpleNamespace(sc=lambda: SimpleNamespace(getExecutorMemoryStatus=lambda: status))
        conf = SimpleNamespace(get=lambda _, usual: usual)
        self.spark = SimpleNamespace(sparkContext=SimpleNamespace(master=master, _jsc=java, getConf=lambda: conf))


@pytest.mark.parametrize(("master", "executors", "told"), [
    ("spark://host:7077", 0, "no worker of spark://host:7077 has taken the work yet"),
    ("spark://host:7077", 2, ""),
    ("local[*,4]", 0, ""),
])  # fmt: skip
def test_a_cluster_without_room_is_told(clock: SimpleNamespace, master: str, executors: int, told: str) -> None:
    nothing: Any = None
    context: Any = Cluster(master, executors)
    run = Run(nothing, context, nothing, 0.0)
    clock.now += 60
    run.check()
    assert run.notice.startswith(told) and bool(run.notice) == bool(told)


CORES = {"spark.executorEnv.BARNABAS_SPARK_CORES": "2"}
SERIAL = {"spark.driver.defaultJavaOptions": "-XX:+UseSerialGC"}


@pytest.mark.parametrize(("master", "now", "conf", "wanted"), [
    ("local[2]", True, {}, SERIAL | CORES | {"spark.sql.shuffle.partitions": "1"}),
    ("local[8]", True, {}, {"spark.executorEnv.BARNABAS_SPARK_CORES": "8", "spark.sql.shuffle.partitions": "4"}),
    ("local[2]", False, {}, SERIAL | CORES),
    ("local[2]", False, {"spark.driver.extraJavaOptions": "-XX:+UseZGC"}, CORES),
    ("spark://host:7077", True, {}, {}),
])  # fmt: skip
def test_few_cores_are_spared(
    monkeypatch: pytest.MonkeyPatch, master: str, now: bool, conf: dict[str, str], wanted: dict[str, str]
) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    asked: Any = SimpleNamespace(master=master, now=now, conf=conf)
    assert spark_start.for_few_cores(asked) == wanted


def test_real_time_mode_compiles_thoroughly_later_unless_somebody_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    name = "spark.driver.defaultJavaOptions"
    asked: Any = SimpleNamespace(master="local[2]", now=True, conf={})
    assert spark_start.for_few_cores(asked, live=True)[name] == f"-XX:+UseSerialGC {spark_start.LATE_COMPILER}"
    asked.conf = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4"}
    assert spark_start.for_few_cores(asked, live=True)[name] == "-XX:+UseSerialGC"


@pytest.mark.parametrize(
    ("conf", "executors", "parallelism", "cores"),
    [
        ({"spark.cores.max": "6"}, 0, 2, 6),
        ({"spark.executor.instances": "3", "spark.executor.cores": "4"}, 0, 2, 12),
        ({}, 2, 5, 5),
        ({}, 0, 2, spark_start.UNKNOWN_CORES),
    ],
)
def test_a_cluster_has_as_many_shuffle_partitions_as_cores(
    monkeypatch: pytest.MonkeyPatch, conf: dict[str, str], executors: int, parallelism: int, cores: int
) -> None:
    """Spark's 200 make a micro-batch take a minute."""
    monkeypatch.setattr(spark_start, "SETTLE_S", 0.0)
    monkeypatch.setattr(spark_start, "POLL_S", 0.0)
    status = SimpleNamespace(getExecutorMemoryStatus=lambda: SimpleNamespace(size=lambda: executors + 1))
    context: Any = SimpleNamespace(
        getConf=lambda: conf, defaultParallelism=parallelism, _jsc=SimpleNamespace(sc=lambda: status)
    )
    assert spark_start.cluster_cores(context, wait_s=0.01) == cores


@pytest.mark.parametrize(
    ("conf", "shuffles", "cores"),
    [({}, "12", "12"), ({"spark.sql.shuffle.partitions": "3"}, None, "12"),
     ({"spark.executorEnv.BARNABAS_SPARK_CORES": "4"}, "12", None)],
)  # fmt: skip
def test_reads_are_cut_for_the_cores_of_the_cluster(
    monkeypatch: pytest.MonkeyPatch, conf: dict[str, str], shuffles: str | None, cores: str | None
) -> None:
    """The driver's machine may have two, and a read of a day was in as many splits."""
    monkeypatch.setattr(spark_start, "cluster_cores", lambda context: 12)
    registered: list[str | None] = []
    monkeypatch.setattr(
        spark_start, "register", lambda spark: registered.append(spark.sparkContext.environment.get(NAME))
    )
    made: dict[str, str] = {}
    spark: Any = SimpleNamespace(
        conf=SimpleNamespace(set=made.__setitem__), sparkContext=SimpleNamespace(environment={})
    )
    spark_start.use_all_cores(spark, SimpleNamespace(master="spark://far:7077", conf=conf))  # type: ignore[arg-type]
    assert made.get("spark.sql.shuffle.partitions") == shuffles
    assert registered == ([cores] if cores else [])
    spark_start.use_all_cores(spark, SimpleNamespace(master="local[2]", conf={}))  # type: ignore[arg-type]
    assert len(registered) == bool(cores)

"""What Spark is started with, without starting it: settings and environment of a session, the command of declarative
pipelines, the one that fetches the connector, and how a session learns of `format("barnabas")`."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any  # PySpark's own classes, in whose place others stand

import pyspark
import pytest
from pyspark.sql import SparkSession

from barnabas.pipelines import connector, ivy, jvm, write_mode
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import declarative

session = importlib.import_module("barnabas.pipelines.session")  # the package has a function of this name


class Builder:
    """Of a session that is not started."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.app = self.master_given = ""
        self.conf = self.settings
        self.dataSource = self
        self.registered: list[type] = []
        self.sparkContext = SimpleNamespace()

    def appName(self, app: str) -> Builder:
        self.app = app
        return self

    def master(self, master: str) -> Builder:
        self.master_given = master
        return self

    def config(self, name: str, value: str) -> Builder:
        self.settings[name] = value
        return self

    def getOrCreate(self) -> Any:
        conf = SimpleNamespace(set=self.settings.__setitem__, get=self.settings.get)
        return SimpleNamespace(conf=conf, sparkContext=self.sparkContext, dataSource=self, made=self)

    def register(self, source: type) -> None:
        self.registered.append(source)


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Builder:
    made = Builder()
    for name in ("JAVA_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP", "SPARK_HOME"):
        monkeypatch.setenv(name, "taken off again")
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(SparkSession, "builder", made)
    monkeypatch.setattr(SparkSession, "getActiveSession", staticmethod(lambda: None))
    monkeypatch.setattr(session, "find_java", lambda: tmp_path / "java")
    monkeypatch.setattr(session, "start_jvm", lambda settings: None)
    monkeypatch.setattr(session, "append_by_default", lambda: None)
    return made


def test_a_session_of_this_machine(builder: Builder, tmp_path: Path) -> None:
    made: Any = session.session("orders", master="local[3]", bootstrap="here:9092")
    assert made.made is builder and (builder.app, builder.master_given) == ("orders", "local[3]")
    settings = builder.settings
    assert settings["spark.sql.shuffle.partitions"] == "3" and settings["spark.driver.host"] == "127.0.0.1"
    assert settings[f"spark.executorEnv.{session.BOOTSTRAP_VARIABLE}"] == "here:9092"
    assert settings[session.PUSHDOWN] == "true"
    assert [each.__name__ for each in builder.registered] == ["BarnabasDataSource"]
    assert os.environ["JAVA_HOME"] == str(tmp_path / "java") and os.environ["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert os.environ["PYSPARK_PYTHON"] == os.environ["PYSPARK_DRIVER_PYTHON"] == sys.executable
    assert "SPARK_HOME" not in os.environ  # only while it started


def test_what_the_caller_says_wins(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "connector_jars", lambda: [Path("/cache/kafka.jar")])
    conf = {"spark.sql.shuffle.partitions": 9, "spark.ui.enabled": True, "spark.jars": "/mine.jar"}
    session.session(master="spark://far:7077", connector=True, conf=conf)
    settings = builder.settings
    assert settings["spark.sql.shuffle.partitions"] == "9" and settings["spark.ui.enabled"] == "true"
    assert settings["spark.jars"] == "/cache/kafka.jar,/mine.jar"
    assert "spark.driver.host" not in settings and "SPARK_LOCAL_IP" not in os.environ


def test_another_python_for_the_workers(builder: Builder) -> None:
    session.session(master="spark://far:7077", conf={"spark.pyspark.python": "/opt/python"})
    assert os.environ["PYSPARK_PYTHON"] == "/opt/python" and os.environ["PYSPARK_DRIVER_PYTHON"] == sys.executable


def test_a_session_that_runs_already_is_taken(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    running = builder.getOrCreate()
    monkeypatch.setattr(SparkSession, "getActiveSession", staticmethod(lambda: running))
    found: Any = session.session()
    assert found is running and len(builder.registered) == 1
    with pytest.raises(PipelineError, match="made without Spark's Kafka connector"):
        session.session(connector=True)


def test_a_context_without_sql(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}

    class Conf:
        def __getattr__(self, name: str) -> Any:
            def remember(value: Any) -> Conf:
                made[name] = value
                return self

            return remember

    monkeypatch.setattr(pyspark, "SparkConf", Conf)
    monkeypatch.setattr(pyspark, "SparkContext", lambda conf: SimpleNamespace(conf=conf))
    session.context("connect", master="local[2]", conf={"spark.ui.enabled": "false"})
    assert (made["setAppName"], made["setMaster"]) == ("connect", "local[2]")
    assert dict(made["setAll"])["spark.ui.enabled"] == "false"


def test_a_source_that_is_known_already_is_registered_for_the_right_session(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's side of Spark asks the session that is active in Java, which may be another one."""
    spark = builder.getOrCreate()
    active: list[object] = []

    def now_active() -> Any:
        found = list(active)
        return SimpleNamespace(isDefined=lambda: bool(found), get=lambda: found[-1])

    of_java = SimpleNamespace(
        getActiveSession=now_active,
        setActiveSession=active.append,
        clearActiveSession=active.clear,
    )
    monkeypatch.setattr(SparkSession, "_get_j_spark_session_class", staticmethod(lambda java: of_java), raising=False)
    spark._jvm, spark._jsparkSession = None, "this one"
    seen: list[list[object]] = []

    def register(source: type) -> None:
        seen.append(list(active))
        if len(seen) == 1:
            raise RuntimeError("[DATA_SOURCE_ALREADY_EXISTS] barnabas")

    monkeypatch.setattr(builder, "register", register)
    session.register(spark)
    assert seen == [[], ["this one"]] and active == []
    monkeypatch.setattr(builder, "register", lambda source: (_ for _ in ()).throw(RuntimeError("something else")))
    with pytest.raises(RuntimeError, match="something else"):
        session.register(spark)


def test_the_default_mode_of_a_write_to_a_topic_is_append() -> None:
    class Writer:
        def __init__(self, mode: str = "ErrorIfExists") -> None:
            self.chosen, self.source = mode, ""

        def mode(self, mode: str) -> Writer:
            self.chosen = mode
            return self

        def format(self, source: str) -> Writer:
            self.source = source
            return self

    for _ in range(2):  # once is enough
        write_mode._wrap(Writer, lambda writer: writer.chosen == "ErrorIfExists")
    assert Writer().format("barnabas").chosen == "append"
    assert Writer("overwrite").format("barnabas").chosen == "overwrite"
    assert Writer().format("parquet").chosen == "ErrorIfExists"
    java = SimpleNamespace(_jwrite=SimpleNamespace(curmode=lambda: "ErrorIfExists"))
    assert write_mode._is_default(java)  # type: ignore[arg-type]


def test_what_java_says_is_passed_on_without_the_noise(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"WARNING: Using incubator modules: jdk.incubator.vector\nError: no memory\n")
    os.close(writing)
    jvm._pass_on(reading)
    assert capsys.readouterr().err == "Error: no memory\n"
    assert jvm._Settings({"spark.a": "1"}).getAll() == [("spark.a", "1")]


# --- fetching the connector -----------------------------------------------------------------------------------------


@contextmanager
def program(place: Path, text: str) -> Iterator[Path]:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    yield place


def test_ivy_is_asked_for_what_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ivy.REPOSITORY_VARIABLE, "https://mirror/maven")
    script = 'echo "$@"; mkdir -p "${10%/*}"; echo done >&2'
    with program(tmp_path / "java", script) as java:
        told = ivy._run_ivy(java, tmp_path / "ivy.jar", tmp_path, connector.wanted("4.3.0"), {"kafka-clients": "3.9.2"})
    assert "-jar" in told and "-retrieve" in told and told.endswith("done\n")
    wishes = (tmp_path / "ivy.xml").read_text()
    assert 'org="org.apache.kafka" name="kafka-clients" rev="3.9.2" transitive="false"' in wishes
    assert "https://mirror/maven" in (tmp_path / "ivysettings.xml").read_text()
    monkeypatch.setattr(ivy, "FETCH_TIMEOUT_S", 0.1)
    with (
        program(tmp_path / "java", "exec sleep 5") as java,
        pytest.raises(PipelineError, match="not be fetched in 0 s"),
    ):
        ivy._run_ivy(java, tmp_path / "ivy.jar", tmp_path, connector.wanted("4.3.0"), {})


def test_jars_come_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fetched: list[str] = []

    def fetch(jars: ivy.Jars, home: Path, folder: Path) -> None:
        fetched.append(jars.versions["spark-sql-kafka-0-10_2.13"][0])
        folder.mkdir(parents=True)
        for name in jars.versions:
            (folder / f"{name}-1.jar").touch()

    monkeypatch.setattr(connector, "fetch", fetch)
    names = [f"{name}-1.jar" for name in sorted(connector.wanted("4.3.0").versions)]
    for _ in range(2):
        assert [each.name for each in connector.connector_jars()] == names
    assert fetched == [pyspark.__version__]
    monkeypatch.undo()
    with pytest.raises(PipelineError, match="there is no Ivy in"):
        ivy.fetch(connector.wanted("4.3.0"), tmp_path, tmp_path / "jars")


# --- declarative pipelines ------------------------------------------------------------------------------------------

TELLS = """
echo "2026-11-18 01:00:00: Flow spark_catalog.default.orders is RUNNING."
echo "$@" > {folder}/words
env > {folder}/environment
echo "some log line"
"""


@pytest.fixture
def pipelines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a definition, and a home of Spark whose `spark-pipelines` is a script."""
    folder = tmp_path / "orders"
    folder.mkdir()
    (folder / "tables.py").write_text("from pyspark import pipelines as dp\n")
    monkeypatch.setattr(declarative, "_spark_home", lambda: tmp_path / "spark")
    monkeypatch.setattr("barnabas.pipelines.java.find_java", lambda: tmp_path / "java")
    return folder


def run(folder: Path, tmp_path: Path, conf: Mapping[str, str] | None = None, fresh: bool = False) -> list[str]:
    told: list[str] = []
    declarative.run(folder, tmp_path / "home", "here:9092", "local[2]", conf or {}, told.append, fresh)
    return told


def test_a_declarative_pipeline_is_run_by_sparks_own_command(pipelines: Path, tmp_path: Path) -> None:
    place = tmp_path / "spark" / "bin" / "spark-pipelines"
    with program(place, TELLS.format(folder=tmp_path)):
        told = run(pipelines, tmp_path, {"spark.ui.enabled": "true"}, fresh=True)
    assert any("Flow orders is RUNNING" in each for each in told)
    words = (tmp_path / "words").read_text()
    assert words.startswith("run --spec ") and "--remote local[2]" in words and "--full-refresh-all" in words
    assert "--conf spark.ui.enabled=true" in words
    environment = (tmp_path / "environment").read_text()
    assert "BARNABAS_BOOTSTRAP=here:9092" in environment and f"SPARK_HOME={tmp_path / 'spark'}" in environment
    assert "spark.ui.enabled=true" in environment  # once more, for a Spark that PySpark starts itself
    assert "definitions/tables.py" in (tmp_path / "home" / "orders" / declarative.SPECS[0]).read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('echo "pyspark.errors.AnalysisException: [NO_TABLE] no table. SQLSTATE: 42P01" >&2; exit 1', "no table"),
        ("exit 3", "orders: spark-pipelines left with 3"),
    ],
)
def test_a_declarative_pipeline_that_fails_says_why(pipelines: Path, tmp_path: Path, text: str, said: str) -> None:
    with program(tmp_path / "spark" / "bin" / "spark-pipelines", text), pytest.raises(PipelineError) as problem:
        run(pipelines, tmp_path)
    assert said in str(problem.value) and "SQLSTATE" not in str(problem.value)


def test_our_own_error_is_the_one_that_is_told() -> None:
    lines = io.StringIO(
        "x.y.SparkException: it failed\nbarnabas.pipelines.errors.PipelineError: there is no topic 'a'\n"
        "x.y.OtherException: and so on\n"
    )
    assert "there is no topic 'a'" in declarative._follow(lines, print)

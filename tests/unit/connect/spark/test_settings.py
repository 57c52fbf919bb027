"""`spark:` of definitions, and what goes from the driver to the tasks."""

from __future__ import annotations

import importlib
import logging
from types import SimpleNamespace

import msgspec
import pytest

from barnabas.connect.cluster.batches import Fenced
from barnabas.connect.cluster.positions import Known
from barnabas.connect.definition.loading import load
from barnabas.connect.errors import BadOption, ConnectError, Unavailable
from barnabas.connect.runtime.partition_writing import Stopped
from barnabas.connect.spark import session
from barnabas.connect.spark.asked import SourceAsked, failure_of, raise_again
from barnabas.connect.spark.settings import SparkSettings, of_all
from barnabas.connect.spark.sink_task import shares
from barnabas.pipelines.errors import PipelineError

DEFINITION = """
name: {name}
from: {{topics: [orders]}}
to: {{opensearch: {{url: "http://127.0.0.1:9200", index: orders, password: "${{env:ONE_SECRET}}"}}}}
engine: spark
spark: {spark}
"""


def test_settings_of_a_definition() -> None:
    spark = "{master: 'local[3]', round_s: 9, spark.executor.memory: 2g, spark.ui.enabled: true, spark.cores.max: 4}"
    [definition] = load(DEFINITION.format(name="a", spark=spark))
    conf = {"spark.executor.memory": "2g", "spark.ui.enabled": "true", "spark.cores.max": "4"}
    assert of_all([definition]) == SparkSettings(master="local[3]", round_s=9.0, conf=conf)
    assert definition.tasks == 64  # as many as Spark has cores for
    [one] = load(DEFINITION.format(name="a", spark="{}") + "tasks: 1")
    assert one.tasks == 1
    assert of_all([one]) == SparkSettings()


@pytest.mark.parametrize(
    ("spark", "told"),
    [
        ("{mastre: local}", "Did you mean 'master'?"),
        ("{executor.memory: 2g}", "Did you mean 'spark.executor.memory'?"),
        ("{master: 7}", "not 7"),
        ("{master: mesos}", "spark://HOST:PORT"),
        ("{master: sc://127.0.0.1}", "Spark Connect"),
        ("{round_s: 0}", "1 to 600"),
        ("{round_s: soon}", "1 to 600"),
        ("{round_s: true}", "1 to 600"),
        ("{spark.jars: [a, b]}", "is one value"),
        ("local", "expected `object`"),
    ],
)
def test_what_is_wrong_is_said(spark: str, told: str) -> None:
    with pytest.raises(BadOption) as problem:
        load(DEFINITION.format(name="a", spark=spark))
    assert told in str(problem.value)
    assert "connector a" in str(problem.value)


def test_a_process_has_one_spark() -> None:
    texts = [DEFINITION.format(name=name, spark=spark) for name, spark in (("a", "{}"), ("b", "{master: local}"))]
    definitions = load("---".join(texts))
    with pytest.raises(BadOption, match="a and b want Spark with different settings"):
        of_all(definitions)
    process = load(texts[0].replace("engine: spark", "engine: process"))
    assert of_all([*process, definitions[1]]).master == "local"


def test_a_round_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE_SECRET", "kept-to-ourselves")
    [definition] = load(DEFINITION.format(name="a", spark="{}"))
    asked = SourceAsked(
        definition=definition,
        bootstrap="127.0.0.1:9092",
        folders=["/tmp"],
        seconds=5.0,
        task=0,
        partition=3,
        splits=["main"],
        known=Known({"main": {"number": 7}}, 12),
    )
    text = msgspec.json.encode(asked).decode()
    assert "kept-to-ourselves" not in text
    assert msgspec.json.decode(text, type=SourceAsked) == asked


@pytest.mark.parametrize(
    ("problem", "again"),
    [
        (BadOption("it has no option 'x'"), BadOption),
        (Stopped("orders-0 at 7: no JSON"), BadOption),
        (Fenced("another has it"), Fenced),
        (Unavailable("it is down", "Start it."), Unavailable),
        (ValueError("a defect"), Unavailable),
    ],
)
def test_failures_come_to_the_driver(problem: Exception, again: type[ConnectError]) -> None:
    with pytest.raises(again, match=str(problem)):
        raise_again(failure_of(problem))
    raise_again(None)


def test_what_is_due_is_shared() -> None:
    places = [("orders", number) for number in range(10)]
    assert shares(places, 10, 4, 4) == [places[number::4] for number in range(4)]
    assert shares(places, 10, 4, 1) == [places[:3]]  # what is left waits for the next task
    assert shares(places[:1], 10, 4, 4) == [places[:1]]
    assert shares(places, 10, 1, 1) == [places]
    assert shares(places, 10, 4, 0) == []
    assert shares([], 10, 4, 4) == []


def test_what_spark_is_started_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the definition come behind ours, except for the one that exactly once needs."""
    made: list[dict[str, str]] = []

    def context(app: str, *, master: str, conf: dict[str, str]) -> SimpleNamespace:
        made.append(conf)
        return SimpleNamespace(setLogLevel=levels.append)

    levels: list[str] = []
    filters = list(logging.root.filters)
    monkeypatch.setattr(importlib.import_module("barnabas.pipelines.session"), "context", context)
    monkeypatch.setenv("ONE_SECRET", "kept-to-ourselves")
    monkeypatch.setenv("BARNABAS_PROFILE", "/etc/profile.toml")
    given = {"spark.ui.enabled": "true", "spark.speculation": "true", "spark.a": "${env:ONE_SECRET}"}
    try:
        session._context("local[2]", SparkSettings(conf=given))
    finally:
        logging.root.filters[:] = filters
    [conf] = made
    assert (conf["spark.ui.enabled"], conf["spark.speculation"], conf["spark.a"]) == (
        *("true", "false", "kept-to-ourselves"),
    )
    assert any(name.startswith("spark.executorEnv.") for name in conf) and levels == ["OFF"]
    assert session._cores("local[1]", SimpleNamespace()) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("problem", "raised", "said"),
    [
        (PipelineError("pyspark is not installed"), BadOption, "pyspark is not installed"),
        (RuntimeError("no Java"), Unavailable, "Spark does not start with master local"),
    ],
)
def test_a_spark_that_does_not_start(
    problem: Exception, raised: type[ConnectError], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def context(*_: object, **__: object) -> None:
        raise problem

    filters = list(logging.root.filters)
    monkeypatch.setattr(importlib.import_module("barnabas.pipelines.session"), "context", context)
    try:
        with pytest.raises(raised, match=said):
            session._context("local", SparkSettings())
    finally:
        logging.root.filters[:] = filters
    record = logging.LogRecord("x", logging.ERROR, "/site/py4j/java_gateway.py", 1, "gone", None, None)
    assert not session._is_not_of_py4j(record)

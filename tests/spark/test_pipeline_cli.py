"""`barnabas pipeline` as a person uses it: run, status, stop, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.testing import RunningNode, running_node

EXECUTABLE = str(Path(sys.executable).parent / "barnabas")


class Person:
    """Somebody at a terminal, with a folder of their own and a node to speak to."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self.folder, self.bootstrap = folder, bootstrap
        self.env = {**os.environ, "BARNABAS_PIPELINES": str(folder / "home"), "BARNABAS_BOOTSTRAP": bootstrap}

    def says(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [EXECUTABLE, "pipeline", *words],
            capture_output=True, text=True, cwd=self.folder, env={**self.env, **env}, timeout=240,
        )  # fmt: skip

    def starts(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [EXECUTABLE, "pipeline", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, env=self.env,
        )  # fmt: skip


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    with running_node({"transaction.two.phase.commit.enable": True}) as node:
        yield Person(tmp_path_factory.mktemp("person"), node.bootstrap)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_pipeline_of_ones_own_from_new_to_stop(person: Person) -> None:
    assert person.says("new", "orders").returncode == 0
    process = person.starts(
        "run", "orders.py", "--generate", "100", "--master", "local[2]", "--set", "window=2 seconds"
    )
    try:
        deadline = time.monotonic() + 600
        state = None
        while time.monotonic() < deadline and process.poll() is None:
            listed = json.loads(person.says("status", "--json").stdout)
            if listed and listed[0].get("results", 0) > 0:  # no numbers while Spark starts
                state = listed[0]
                break
            time.sleep(0.5)
        assert state is not None, process.communicate(timeout=60)
        assert state["pipeline"] == "orders" and state["pid"] == process.pid and state["part"] == "now"
        assert state["queries"][0]["name"] == "revenue" and state["queries"][0]["rows"] > 0
        table = person.says("status").stdout
        assert "orders" in table and str(process.pid) in table

        second = person.says("run", "orders.py")
        assert second.returncode == 1 and "runs already" in second.stderr and "pipeline stop orders" in second.stderr

        stopped = person.says("stop", "orders")
        assert (stopped.returncode, stopped.stdout) == (0, "stopped orders\n"), stopped.stderr
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "results" in out and "orders --now ran" in out and "Spark's own start" in out
    assert err == "starting Spark ...\n"
    assert person.says("status").stdout == "no pipeline runs\n"


def one_line(done: subprocess.CompletedProcess[str], code: int = 1) -> str:
    assert done.returncode == code, done.stdout + done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("barnabas: "), done.stderr
    return lines[0]


def test_a_missing_topic(person: Person) -> None:
    told = one_line(person.says("run", "activity", "--once"))
    assert "there is no topic 'activity.searches'" in told and "--generate" in told


def test_a_missing_java(person: Person, tmp_path: Path) -> None:
    told = one_line(person.says("run", "activity", JAVA_HOME="", PATH=str(tmp_path)))
    assert "Java" in told and "pip install 'barnabas[java]'" in told


def test_a_missing_pyspark(person: Person, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\n"
        "known = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'pyspark' else known(name, *a)\n"
    )
    told = one_line(person.says("run", "activity", PYTHONPATH=str(tmp_path)))
    assert "pip install 'barnabas[spark]'" in told


def test_a_node_that_is_not_there(person: Person) -> None:
    told = one_line(person.says("run", "activity", "-b", "127.0.0.1:1"))
    assert "cannot reach 127.0.0.1:1" in told


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("run", "activty"), 1, "Did you mean 'activity'?"),
        (("run", "activity", "--now", "--later"), 2, "two different runs"),
        (("run", "activity", "--later", "--once"), 2, "--later ends by itself"),
        (("run", "activity", "--set", "window"), 2, "is not name=value"),
        (("run", "activity", "--set", "widow=1h"), 1, "no option 'widow'"),
        (("run", "activity", "--from", "soon"), 2, "is not a time"),
        (("run", "restore", "--now"), 1, "try --later"),
        (("stop", "activity"), 1, "does not run"),
        (("new", "Bad-Name"), 2, "no good name"),
    ],
)
def test_what_makes_no_sense(person: Person, words: tuple[str, ...], code: int, told: str) -> None:
    assert told in one_line(person.says(*words), code)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_bad_records_are_shown_and_a_cluster_is_not_taken_for_another(tmp_path: Path) -> None:
    from confluent_kafka import Producer

    def run(node: RunningNode, *more: str) -> subprocess.CompletedProcess[str]:
        person = Person(tmp_path, node.bootstrap)
        return person.says("run", "activity", "--once", "--master", "local[2]", *more)

    from barnabas.pipelines.activity import PIPELINE
    from barnabas.pipelines.framework import topics

    with running_node({"transaction.two.phase.commit.enable": True}) as node:
        topics.prepare(node.bootstrap, PIPELINE, str, make_inputs=True, now=True)
        producer = Producer({"bootstrap.servers": node.bootstrap})
        producer.produce("activity.views", b'{"id": "v", "member": "seven"}', b"k")
        producer.flush()
        done = run(node)
        assert done.returncode == 0, done.stderr
        assert "bad record at activity.views-" in done.stdout and '"member": "seven"' in done.stdout
        assert "1 dead letter" in done.stdout
        told = one_line_after_spark(run(node, "--from", "-1h"))
        assert "goes on from there, not from --from" in told
    with running_node() as other:
        topics.prepare(other.bootstrap, PIPELINE, str, make_inputs=True, now=True)
        assert "on another cluster" in one_line_after_spark(run(other))


def one_line_after_spark(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_whole_story_ends_by_itself(tmp_path: Path) -> None:
    """`make run SECONDS=60`: a summary, a report, digests, exit code 0, and nothing left behind but the results."""
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "XDG_DATA_HOME": str(tmp_path / "home"), "NO_COLOR": "1"}
    (tmp_path / "tmp").mkdir()
    words = [EXECUTABLE, "demo", "--seconds", "60", "--port", "0"]
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=400)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "events written" in done.stdout and "recommendations made" in done.stdout
    report = tmp_path / "home" / "barnabas" / "demo" / "activity" / "report.html"
    assert str(report) in done.stdout and report.read_text().count("<svg") == 8
    assert len(list((report.parent / "outbox").glob("*.eml"))) > 10


@pytest.mark.timeout(120)
def test_the_story_without_java_says_in_one_line_what_is_missing(tmp_path: Path) -> None:
    env = {**os.environ, "JAVA_HOME": "", "PATH": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "NO_COLOR": "1"}
    words = [EXECUTABLE, "demo", "--seconds", "4", "--port", "0"]
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    seen = done.stdout.splitlines()
    missing = [line for line in seen if "barnabas[java]" in line]
    assert len(missing) == 1 and missing[0].startswith("without the pipelines: ")
    assert any("events written" in line for line in seen)

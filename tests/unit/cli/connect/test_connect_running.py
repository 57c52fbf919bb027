"""`barnabas connect run` and `worker` in this process: a file becomes records, and Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas import Consumer
from barnabas.cli.connect.quick import quick
from barnabas.cli.connect.running import _told
from barnabas.cli.connect.telling import behind_of, state_of
from barnabas.connect.cluster.definitions import Entry
from barnabas.connect.cluster.status import TaskStatus
from barnabas.connect.definition.definition import Definition
from barnabas.testing import RunningNode
from tests.support.members import until
from tests.unit.cli.typed import Typed

SOURCE = """
name: lines
from: {files: {folder: FOLDER, pattern: "*.txt", settle_s: 0}}
to: {topic: lines}
"""


@pytest.fixture
def definition(barnabas_node: RunningNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BARNABAS_BOOTSTRAP", barnabas_node.bootstrap)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one\ntwo\n")
    file = tmp_path / "lines.yaml"
    file.write_text(SOURCE.replace("FOLDER", str(tmp_path / "in")))
    return file


def ended_when(condition: Callable[[], bool]) -> threading.Thread:
    def watch() -> None:
        try:
            until(condition, "the connector has done it", 25)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    beside = threading.Thread(target=watch)
    beside.start()
    return beside


def test_a_file_is_run_until_ctrl_c_and_a_worker_goes_on(
    typed: Typed, barnabas_node: RunningNode, definition: Path
) -> None:
    def values() -> list[bytes | None]:
        try:
            with Consumer("lines", bootstrap=barnabas_node.bootstrap, follow=False) as found:
                return [message.value for message in found]
        except Exception:
            return []

    beside = ended_when(lambda: len(values()) == 2)
    said = typed("connect", "run", definition)
    beside.join(30)
    assert said.code == 0 and "running lines, as worker " in said.err and "; Ctrl-C ends it" in said.err
    assert [value for value in values() if value is not None and b"one" in value]

    shown = typed("connect", "status", "lines")
    assert shown.code == 0 and "state no worker" in shown.lines()
    assert any(line.startswith("folder {'number': 1") for line in shown.lines()), "where it stands"

    assert typed("connect", "add", definition).code == 0
    (definition.parent / "in" / "b.txt").write_text("three\n")
    beside = ended_when(lambda: len(values()) == 3)
    said = typed("connect", "worker", "--functions", definition.parent)
    beside.join(30)
    assert said.code == 0 and "running the connectors that were added, as worker " in said.err
    assert len(values()) == 3, "what was read before is not read again"
    gone = typed("connect", "remove", "lines", "--forget", "--yes")
    assert gone.code == 0 and "removed lines; removed " in gone.out


def test_two_of_one_name_are_refused(typed: Typed, definition: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(definition.read_text())
    said = typed("connect", "run", definition, other)
    assert said.code == 1 and "two connectors have the name 'lines'. Give each its own name." in said.err


def test_a_secret_in_a_definition_is_warned_of(typed: Typed, definition: Path) -> None:
    definition.write_text(
        "name: rows\nfrom: {topics: [lines]}\nto: {opensearch: {url: 'http://me:secret@127.0.0.1:1'}}\n"
    )
    said = typed("connect", "add", definition)
    assert said.code == 0 and "rows: the secret in 'url' is readable in the cluster; write ${env:NAME}" in said.err


@pytest.mark.parametrize(
    ("words", "is_quick"),
    [
        (["run", "a.yaml"], True),
        (["run", "a.yaml", "b.yaml", "-b", "h:1"], True),
        (["run", "--bootstrap=h:1", "a.yaml"], True),
        (["worker"], True),
        (["run"], False),
        (["run", "a.yaml", "-b"], False),
        (["run", "a.yaml", "--help"], False),
        (["worker", "--spark"], False),
        (["list"], False),
    ],
)
def test_what_is_run_without_typer(words: list[str], is_quick: bool) -> None:
    """Wrong words are typer's to refuse."""
    assert (quick(words) is not None) == is_quick


def task(**more: object) -> TaskStatus:
    return TaskStatus(**{"connector": "lines", "worker": "w", "task": 0, **more})  # type: ignore[arg-type]


def test_the_worst_state_of_the_tasks_is_the_connectors() -> None:
    entry = Entry(definition=Definition(name="lines", side="source", connector="files"))
    assert state_of(entry, []) == "no worker"
    assert state_of(entry, [task(state="running"), task(state="waiting")]) == "waiting"
    assert state_of(entry, [task(state="failed"), task(state="waiting")]) == "failed"
    assert state_of(entry, [task(state="stopped")]) == "stopped"


def test_how_far_behind_is_told_in_records_or_in_bytes() -> None:
    assert behind_of([]) == "-"
    assert behind_of([task(behind_records=1200), task(behind_records=3)]) == "1,203"
    assert behind_of([task(behind_bytes=2048), task()]) == "2 KiB"


def test_a_line_of_progress() -> None:
    told = _told(task(records=1200, records_per_s=3.0, dead=1, behind_records=2))
    assert "lines: 1,200 records, 3.0/s, 1 dead letter, 2 records behind" in told

"""`barnabas connect` in this process: definitions that are added, shown, paused, reset and removed, and wrong ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas import Admin
from barnabas.cli.main import main
from barnabas.testing import RunningNode

Run = Callable[..., tuple[int, str]]
SINK = """
name: NAME
from: {topics: [NAME-in], format: json}
to: {files: {folder: FOLDER}}
"""


@pytest.fixture
def run(barnabas_node: RunningNode, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("BARNABAS_BOOTSTRAP", barnabas_node.bootstrap)

    def typed(*words: object) -> tuple[int, str]:
        code = main(["connect", *map(str, words)])
        told = capsys.readouterr()
        return code, (told.out + told.err).strip()

    return typed


@pytest.fixture
def added(run: Run, barnabas_node: RunningNode, tmp_path: Path) -> str:
    """A connector that no worker runs."""
    with Admin(barnabas_node.bootstrap) as admin:
        admin.create_topic("orders-in", partitions=1)
    file = tmp_path / "orders.yaml"
    file.write_text(SINK.replace("NAME", "orders").replace("FOLDER", str(tmp_path / "out")))
    code, told = run("add", file)
    assert code == 0, told
    return "orders"


def test_a_connector_is_listed_paused_resumed_and_removed(run: Run, added: str) -> None:
    assert added in run("list")[1]
    (row,) = json.loads(run("list", "--json")[1])
    assert row["name"] == added
    shown = json.loads(run("status", added, "--json")[1])
    assert added in json.dumps(shown)
    assert "files" in run("status", added)[1]
    assert run("pause", added)[0] == 0
    assert "paused" in run("list")[1]
    assert run("resume", added)[0] == 0
    assert run("restart", added)[0] == 0
    assert run("redrive", added)[0] == 0
    assert run("remove", added, "--yes")[0] == 0
    assert added not in run("list")[1]


def test_adding_the_same_again_changes_nothing(run: Run, added: str, tmp_path: Path) -> None:
    assert run("add", tmp_path / "orders.yaml")[0] == 0
    assert len(json.loads(run("list", "--json")[1])) == 1


@pytest.mark.parametrize("word", ["status", "pause", "resume", "restart", "redrive"])
def test_a_connector_that_is_not_there(run: Run, added: str, word: str) -> None:
    code, told = run(word, "ordesr")
    assert code == 1 and "there is no connector 'ordesr'" in told and "orders" in told


def test_a_sink_is_set_to_the_beginning(run: Run, added: str) -> None:
    code, told = run("reset", added, "--to", "beginning", "--yes")
    assert code == 0, told
    assert run("reset", added, "--to", "nowhere", "--yes")[0] != 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: x\n", "x"),
        ("name: x\nfrom: {topics: [a]}\nto: {filse: {folder: b}}\n", "files"),
        ("name: [\n", ""),
        ("- 1\n", ""),
    ],
)
def test_a_definition_that_cannot_work_is_not_added(run: Run, tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    for word in ("check", "add"):
        code, said = run(word, file)
        assert code == 1 and told in said
    assert json.loads(run("list", "--json")[1]) == []


def test_a_definition_is_checked_with_the_options_of_its_system(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "right.yaml"
    file.write_text(SINK.replace("NAME", "right").replace("FOLDER", str(tmp_path)))
    assert run("check", file)[0] == 0
    file.write_text(file.read_text().replace("folder:", "foldr:"))
    code, told = run("check", file)
    assert code == 1 and "folder" in told
    assert run("add", tmp_path / "missing.yaml")[0] == 1


def test_kinds(run: Run) -> None:
    code, told = run("kinds")
    assert code == 0 and "postgres" in told and "files" in told

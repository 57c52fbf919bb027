"""`barnabas schema` in this process: what is registered, compared, refused and deleted, and how that is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.cli.main import main
from barnabas.testing import running_node
from tests.support.process import free_port
from tests.support.registry import RegistryProcess

CENTS = {"name": "cents", "type": "long"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
Run = Callable[..., tuple[int, str]]


def payment(*fields: object) -> str:
    return json.dumps({"type": "record", "name": "Payment", "fields": list(fields)})


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    with running_node() as node, RegistryProcess(tmp_path_factory.mktemp("registry"), node.bootstrap) as serving:
        assert isinstance(serving, RegistryProcess)
        yield serving


@pytest.fixture
def run(registry: RegistryProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command and what it said, with its exit code."""
    monkeypatch.setenv("BARNABAS_REGISTRY", registry.address)

    def typed(*words: object) -> tuple[int, str]:
        code = main(["schema", *map(str, words)])
        told = capsys.readouterr()
        return code, (told.out + told.err).strip()

    return typed


@pytest.fixture
def one(tmp_path: Path) -> Path:
    file = tmp_path / "one.avsc"
    file.write_text(payment(CENTS))
    return file


@pytest.fixture
def two(tmp_path: Path) -> Path:
    file = tmp_path / "two.avsc"
    file.write_text(payment(CENTS, NOTE))
    return file


def test_versions_are_registered_shown_and_compared(run: Run, one: Path, two: Path) -> None:
    assert run("register", "told-value", one)[0] == 0
    assert run("check", "told-value", two)[0] == 0
    assert run("register", "told-value", two)[0] == 0
    code, told = run("list", "told", "--json")
    assert code == 0 and json.loads(told)[0]["subject"] == "told-value"
    assert "told-value" in run("list")[1]
    assert '"note"' in run("show", "told-value")[1]
    assert '"note"' not in run("show", "told-value", "--version", 1)[1]
    code, told = run("diff", "told-value")
    assert code == 0 and "field note (null or string, default null) was added" in told
    assert run("diff", "told-value", 1, 2)[1] == told


def test_what_may_not_be_the_next_version(run: Run, one: Path, tmp_path: Path) -> None:
    assert run("register", "kept-value", one)[0] == 0
    bad = tmp_path / "bad.avsc"
    bad.write_text(payment({"name": "cents", "type": "string"}))
    code, told = run("check", "kept-value", bad)
    assert code == 1 and told.startswith("not compatible with kept-value (BACKWARD)")
    code, told = run("register", "kept-value", bad)
    assert code == 1 and "not compatible with earlier versions" in told
    code, told = run("check", "kept-value", bad, "--json")
    assert json.loads(told)["compatible"] is False
    assert '"long"' in run("show", "kept-value")[1]


def test_deleting_asks_unless_it_is_told(run: Run, one: Path, two: Path) -> None:
    for file in (one, two):
        run("register", "gone-value", file)
    assert run("delete", "gone-value", "--version", 1, "--yes")[0] == 0
    assert run("show", "gone-value", "--version", 1)[0] == 1
    assert run("delete", "gone-value", "--yes")[0] == 0
    assert "gone-value" not in run("list")[1]


@pytest.mark.parametrize(
    "words",
    [
        ("show", "nobody-value"),
        ("show", "--id", 99_999),
        ("diff", "nobody-value"),
        ("delete", "nobody-value", "--yes"),
        ("register", "nobody-value", "/no/such/file.avsc"),
    ],
)
def test_what_is_not_there(run: Run, words: tuple[object, ...]) -> None:
    code, told = run(*words)
    assert code == 1 and told.count("\n") == 0 and told.startswith("barnabas: ")


def test_a_file_that_is_no_schema(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "broken.avsc"
    file.write_text('{"type": "record"}')
    assert run("register", "broken-value", file)[0] == 1
    assert "broken-value" not in run("list")[1]


def test_a_registry_that_is_not_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("BARNABAS_REGISTRY", address)
    code, told = run("list")
    assert code == 1 and address in told

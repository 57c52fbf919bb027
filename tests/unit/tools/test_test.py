"""`make test`: parts beside each other, and what is said of a test that passes only alone."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[3] / "tools" / "test.py"


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("tools_test", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "tools_test", module)
    spec.loader.exec_module(module)
    monkeypatch.delenv("COVERAGE_FILE", raising=False)  # of a run that measures this test
    (tmp_path / "tests").mkdir()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/setup_tests.sh").write_text("#!/bin/sh\n")
    (tmp_path / "tools/setup_tests.sh").chmod(0o755)
    (tmp_path / "tests/unsteady.txt").write_text("")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -q\n")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "CACHES", tmp_path / ".pytest_cache")
    monkeypatch.setattr(module, "UNSTEADY", tmp_path / "tests/unsteady.txt")
    monkeypatch.setattr(module, "PYTEST", (sys.executable, "-m", "pytest"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # importing them takes seconds
    return module


def _part(tool: ModuleType, name: str, body: str) -> object:
    (tool.ROOT / f"tests/test_{name}.py").write_text(f"def test_it():\n    {body}\n")
    return tool.Part(name, (f"tests/test_{name}.py",))


FIRST_TIME = "from pathlib import Path; mark = Path('mark'); seen = mark.exists(); mark.touch(); assert seen"


def test_what_passes_only_alone_is_recorded_and_fails_the_second_time(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    parts = (_part(tool, "good", "pass"), _part(tool, "first", FIRST_TIME))
    monkeypatch.setattr(tool, "PARTS", parts)
    assert tool.main([]) == 0
    assert tool.UNSTEADY.read_text() == "tests/test_first.py::test_it\n"
    assert "[good] " in capfd.readouterr().out
    (tool.ROOT / "mark").unlink()
    assert tool.main(["first"]) == 1
    assert tool.UNSTEADY.read_text() == "tests/test_first.py::test_it\n"


def test_what_fails_alone_as_well_fails_the_run(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "PARTS", (_part(tool, "bad", "assert False"),))
    with pytest.raises(SystemExit, match="bad failed"):
        tool.main([])


def test_a_part_that_cannot_run_ends_all(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tool.Part("broken", command=("false",), alone=True)
    monkeypatch.setattr(tool, "PARTS", (broken, _part(tool, "later", "open('later', 'w')")))
    with pytest.raises(SystemExit, match="broken failed"):
        tool.main([])
    assert not (tool.ROOT / "later").exists()


def test_an_unknown_part_is_said(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["nothing"]) == 2
    assert "no part nothing: check, unit" in capsys.readouterr().err


def test_every_part_is_run_once(tool: ModuleType) -> None:
    names = [part.name for part in tool.PARTS]
    assert len(names) == len(set(names))

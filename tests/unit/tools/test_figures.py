"""Figures in the documentation: written by the run that measured them, and the pages have what the files have."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import progress
from tests.support.figures import FIGURES, ROOT, Recorder
from tools.figures_page import MARK, Span, filled, pages


@pytest.fixture(autouse=True)
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(progress, "FOLDER", tmp_path / "noted")
    return tmp_path / "noted"


def report(name: str, outcome: str = "passed", when: str = "call", **measured: float) -> Any:
    properties = [("figure:kills", measured)] if measured else []
    return SimpleNamespace(nodeid=name, outcome=outcome, when=when, user_properties=properties)


def finished(recorder: Recorder, *reports: Any, status: int = 0) -> None:
    for each in reports:
        recorder.pytest_runtest_logreport(each)
    recorder.pytest_sessionfinish(session=None, exitstatus=status)  # type: ignore[arg-type]


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_a_run_is_recorded_with_what_its_tests_measured(tmp_path: Path) -> None:
    finished(
        Recorder("chaos", True, tmp_path),
        report("a", when="setup"),
        report("a", acknowledged=12),
        report("a", when="teardown"),
        report("b", acknowledged=9),
        report("c", "failed", acknowledged=1),
        report("d", "skipped", "setup"),
        report("e"),
        report("e", "failed", "teardown"),
        status=1,
    )
    run = read(tmp_path / "chaos.json")
    assert (run["passed"], run["failed"], run["skipped"]) == (2, ["c", "e"], 1)
    assert read(tmp_path / "kills.json")["tests"] == {"a": {"acknowledged": 12}, "b": {"acknowledged": 9}}


def test_a_run_of_a_few_tests_changes_their_figures_only(tmp_path: Path) -> None:
    finished(Recorder("chaos", True, tmp_path), report("a", acknowledged=12), report("b", acknowledged=9))
    before = (tmp_path / "chaos.json").read_text()
    finished(Recorder("chaos", False, tmp_path), report("b", acknowledged=10))
    assert (tmp_path / "chaos.json").read_text() == before
    assert read(tmp_path / "kills.json")["tests"] == {"a": {"acknowledged": 12}, "b": {"acknowledged": 10}}


def test_a_run_with_security_keeps_figures_of_its_own(tmp_path: Path) -> None:
    finished(Recorder("chaos", True, tmp_path), report("a", acknowledged=12))
    finished(Recorder("chaos-secure", True, tmp_path), report("a", acknowledged=7))
    assert read(tmp_path / "kills.json")["tests"] == {"a": {"acknowledged": 12}}
    assert read(tmp_path / "kills-secure.json")["tests"] == {"a": {"acknowledged": 7}}
    assert (tmp_path / "chaos.json").exists() and (tmp_path / "chaos-secure.json").exists()


def test_an_interrupted_run_is_not_recorded(tmp_path: Path) -> None:
    finished(Recorder("chaos", True, tmp_path), report("a"), status=int(pytest.ExitCode.INTERRUPTED))
    assert not (tmp_path / "chaos.json").exists()


def test_an_interrupted_run_goes_on(tmp_path: Path, noted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted = int(pytest.ExitCode.INTERRUPTED)
    finished(Recorder("chaos", True, tmp_path), report("a", acknowledged=1), report("b", "failed"), status=interrupted)
    finished(Recorder("chaos", False, tmp_path, resume=True), report("c"))  # a part: -k
    assert not (tmp_path / "chaos.json").exists()
    assert progress.passed(noted / "chaos.json", progress.code_here()) == {"a", "c"}
    finished(
        Recorder("chaos", True, tmp_path, resume=True), report("b", acknowledged=2), report("d", "failed"), status=1
    )
    run = read(tmp_path / "chaos.json")
    assert (run["passed"], run["failed"]) == (3, ["d"])
    assert read(tmp_path / "kills.json")["tests"] == {"a": {"acknowledged": 1}, "b": {"acknowledged": 2}}
    finished(Recorder("chaos", True, tmp_path, resume=True), status=int(pytest.ExitCode.NO_TESTS_COLLECTED))
    assert read(tmp_path / "chaos.json")["passed"] == 3

    monkeypatch.setattr(progress, "code_here", lambda: "other code")
    assert progress.passed(noted / "chaos.json", progress.code_here()) == set()
    finished(Recorder("chaos", True, tmp_path, resume=True), report("d"))
    assert read(tmp_path / "chaos.json")["passed"] == 1


def test_a_whole_run_begins_anew(tmp_path: Path) -> None:
    finished(Recorder("chaos", True, tmp_path), report("a"), report("b"))
    finished(Recorder("chaos", True, tmp_path), report("b"))
    assert read(tmp_path / "chaos.json")["passed"] == 1


def test_pytest_itself_writes_them(tmp_path: Path) -> None:
    """The option, the fixture and xdist together, in a run of its own."""
    (tmp_path / "conftest.py").write_text(
        "from pathlib import Path\n"
        "from tests.support import figures, progress\n"
        "progress.FOLDER = Path(__file__).parent / 'noted'\n"
        "figure = figures.figure\n"
        "figures.Recorder.__init__.__defaults__ = (Path(__file__).parent / 'figures',)\n"
        "pytest_addoption, pytest_configure = figures.add_option, figures.configure\n"
        "pytest_collection_modifyitems = figures.leave_out\n"
    )
    (tmp_path / "test_one.py").write_text("def test_one(figure):\n    figure('kills', acknowledged=12)\n")
    for workers in ("0", "1"):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", workers, "--figures", "chaos"]
        done = subprocess.run(
            [*command, "--rootdir", str(tmp_path), str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert read(tmp_path / "figures" / "chaos.json")["passed"] == 1
        (values,) = read(tmp_path / "figures" / "kills.json")["tests"].values()
        assert values == {"acknowledged": 12}
        (tmp_path / "figures" / "kills.json").unlink()
        done = subprocess.run(
            [*command, "--resume", "--rootdir", str(tmp_path), str(tmp_path)], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, done.stdout + done.stderr
        assert "1 deselected" in done.stdout or workers == "1", done.stdout
        assert read(tmp_path / "figures" / "chaos.json")["passed"] == 1


def test_several_values_read_as_a_span() -> None:
    assert f"{Span((18000, 5000, 7000)):,}" == "5,000 to 18,000"
    assert f"{Span((0.111, 0.114)):.2f}" == "0.11"


def test_the_pages_have_the_figures_of_the_files() -> None:
    assert pages(), "no page has a figure"
    stale = [page.name for page in pages() if filled(page.read_text()) != page.read_text()]
    assert not stale, "run: python tools/figures_page.py"


def test_every_file_is_on_a_page() -> None:
    shown = {found[1] for page in pages() for found in MARK.finditer(page.read_text())}
    assert {path.stem for path in FIGURES.glob("*.json")} == shown

"""Figures of a test run, kept for the documentation: `pytest --figures NAME` writes docs/figures/NAME.json.

A test that measures something calls the fixture `figure("kills", acknowledged=1200)`, which goes to
docs/figures/kills.json with the values of the other tests that use the same name. The run itself (date, minutes,
passed, failed, skipped) goes to docs/figures/NAME.json, but only when it was a whole one: `-k`, `-x`, `--last-failed`
and single tests leave it as it was. tools/figures_page.py puts both into the pages. Without the option nothing is
written.

With `--resume` a run goes on where an interrupted one was (progress.py), and is a whole one when both together are.

What a run named `...-secure` measures goes to docs/figures/kills-secure.json and so on: the same tests with security on
do not replace the figures of those without.
"""

from __future__ import annotations

import datetime
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import progress
from tests.support.progress import Progress

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "figures"
_PROPERTY = "figure:"
_SECURE = "-secure"

Figure = Callable[..., None]


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--figures", metavar="NAME", help="record this run, and what its tests measure, in docs/figures")
    parser.addoption(
        "--resume", action="store_true", help="with --figures: leave out what has passed on the same code, count it in"
    )


def configure(config: pytest.Config) -> None:
    name = config.getoption("--figures", default=None)
    if name is not None and not hasattr(
        config, "workerinput"
    ):  # xdist's workers send their reports to its main process
        recorder = Recorder(name, _whole(config), resume=config.getoption("--resume"))
        config.pluginmanager.register(recorder, "figures")


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What a run that goes on has behind it; in xdist's workers as well, which all do it before the first test."""
    name = config.getoption("--figures", default=None)
    if name is not None and config.getoption("--resume"):
        done = progress.passed(progress.FOLDER / f"{name}.json", progress.code_here())
        config.hook.pytest_deselected(items=[each for each in items if each.nodeid in done])
        items[:] = [each for each in items if each.nodeid not in done]


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Figure:
    """`figure("kills", acknowledged=1200, worst_s=0.5)`: what this test measured, for the pages that show it."""

    def record(name: str, **values: float) -> None:
        request.node.user_properties.append((_PROPERTY + name, values))

    return record


class Recorder:
    def __init__(
        self,
        name: str,
        whole: bool,
        folder: Path = FIGURES,
        *,
        resume: bool = False,
    ) -> None:
        self._name, self._whole, self._folder, self._resume = name, whole, folder, resume
        self._begun = time.monotonic()
        self._progress = Progress(
            progress.FOLDER / f"{name}.json",
            progress.code_here(),
            round(os.getloadavg()[0]),  # of the machine before the run: others work on it as well
            anew=whole and not resume,
        )
        self._outcomes: dict[str, str] = {}  # of this run
        self._measured: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        counts = report.when == "call" or report.outcome != "passed"
        if counts and self._outcomes.get(report.nodeid) != "failed":  # a failed teardown does not undo a failed test
            self._outcomes[report.nodeid] = report.outcome
            self._progress.note(report.nodeid, report.outcome, self._minutes())
        if report.when == "call" and report.outcome == "passed":
            for key, values in report.user_properties:
                if key.startswith(_PROPERTY):
                    self._measured.setdefault(key.removeprefix(_PROPERTY), {})[report.nodeid] = values

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        nothing_left = self._resume and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or nothing_left
        whole = self._whole and ended
        self._progress.spent(self._minutes())
        for name, tests in self._by_file().items():
            alone = whole and not self._resume
            self._write(name, {"when": _today(), "tests": tests if alone else self._kept(name) | tests})
        if whole:
            self._write(self._name, self._run())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        whole = f"docs/figures/{self._name}.json" if self._whole else "not a whole run, not recorded as one"
        terminalreporter.write_line(f"figures: {whole}; measured: {', '.join(sorted(self._by_file())) or 'nothing'}")

    def _by_file(self) -> dict[str, dict[str, Any]]:
        suffix = _SECURE if self._name.endswith(_SECURE) else ""
        return {name + suffix: tests for name, tests in self._measured.items()}

    def _run(self) -> dict[str, Any]:
        found = self._progress.outcomes
        outcomes = list(found.values())
        return {
            "when": _today(),
            "commit": _commit(),
            "cores": os.cpu_count(),
            "load": self._progress.load,
            "minutes": self._progress.minutes,
            "passed": outcomes.count("passed"),
            "failed": sorted(name for name, outcome in found.items() if outcome == "failed"),
            "skipped": outcomes.count("skipped"),
        }

    def _minutes(self) -> float:
        return (time.monotonic() - self._begun) / 60

    def _kept(self, name: str) -> dict[str, Any]:
        path = self._folder / f"{name}.json"
        return dict(json.loads(path.read_text())["tests"]) if path.exists() else {}

    def _write(self, name: str, values: dict[str, Any]) -> None:
        self._folder.mkdir(exist_ok=True)
        (self._folder / f"{name}.json").write_text(json.dumps(values, indent=1, sort_keys=True) + "\n")


def _whole(config: pytest.Config) -> bool:
    """Whether nothing was left out; a mark may be: it belongs to what the run is."""
    option, last_failed = config.option, config.getoption("lf", default=False)
    return not (option.keyword or last_failed or option.maxfail or any("::" in argument for argument in config.args))


def _today() -> str:
    return datetime.date.today().isoformat()


def _commit() -> str:
    return progress.git("rev-parse", "--short", "HEAD").decode().strip()

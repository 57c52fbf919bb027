"""A console as a child process, and a browser that fails a test for what a person would not see: errors of scripts,
requests that the content policy refused, what axe finds serious."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Playwright, expect

from tests.support.paths import ROOT
from tests.support.process import ServerProcess, free_port

AXE = ROOT / "tests/js/node_modules/axe-core/axe.min.js"
WAIT_MS = 15_000  # for what a loaded machine shows late
_SERIOUS = ("serious", "critical")


class ConsoleProcess(ServerProcess):
    """`barnabas console`; `told` are further options."""

    def __init__(
        self, folder: Path, bootstrap: str, told: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        command = [sys.executable, "-m", "barnabas.cli.main", "console", "--port", str(port), *told]
        if "--config" not in told:
            command += ["--bootstrap", bootstrap]
        environment = {"PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1", **(env or {})}
        super().__init__(command, port, folder / "console.log", environment)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def launch(playwright: Playwright) -> Browser:
    chromium = shutil.which("chromium")
    assert chromium is not None, "chromium is missing: tools/setup_tests.sh installs it"
    return playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])


class Watched:
    """A page whose troubles are remembered; `problems` has to be empty when a test ends. What a test causes by
    intent it names with `expected`."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.problems: list[str] = []
        self._expected: list[str] = []
        page.set_default_timeout(WAIT_MS)
        expect.set_options(timeout=WAIT_MS)
        page.on("pageerror", lambda error: self.problems.append(f"script error: {error}"))
        page.on("console", self._said)

    def _said(self, message: Any) -> None:  # playwright's ConsoleMessage has no public name for typing
        if message.type == "error":
            self.problems.append(message.text)

    def expected(self, pattern: str) -> None:
        self._expected.append(pattern)

    def unexpected(self) -> list[str]:
        return [each for each in self.problems if not any(re.search(pattern, each) for pattern in self._expected)]

    def open(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page

    def serious(self) -> list[str]:
        """What axe finds serious or critical on the page as it is now."""
        self.page.evaluate(AXE.read_text())  # not by a script tag: the page's policy would refuse it
        found = self.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
            for each in found["violations"]
            if each["impact"] in _SERIOUS
        ]

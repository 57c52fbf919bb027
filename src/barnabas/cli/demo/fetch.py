"""What the demo's pipelines need and this environment does not have yet, installed while the story runs.

`make run` installs what the node, the clients and the console need, starts the demo, and leaves the rest, most of it
Spark, to this. `--requirements` names the folder with the pins. The mark in the environment is the one that the
Makefile makes and looks at: older than the pins, or missing, it means that something is to be installed.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections import deque
from pathlib import Path

from barnabas.cli.common.installing import Installation
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.java import find_java

SPARK, JAVA = "run.txt", "java.txt"
NEEDS_GB = 3  # of disk: what is fetched, what pip makes of it, and what is installed
MARK = ".stamp"


class Fetch:
    """`run` installs, in a thread of the caller; the screen asks for `bar`, `short` and `said`."""

    def __init__(self, requirements: Path, log: Path) -> None:
        self.said: deque[str] = deque()  # what to say once, where there is no bar
        self._requirements, self._log = requirements, log
        self._installation: Installation | None = None
        self._begun = time.monotonic()
        self._stopped = False

    @staticmethod
    def is_needed(requirements: Path) -> bool:
        return bool(_missing(requirements))

    def run(self) -> None:
        """PipelineError, in one line with the way out, where it fails."""
        self._begun = time.monotonic()
        for name in _missing(self._requirements):
            self._install(self._requirements / name)
            if name == SPARK:
                (Path(sys.prefix) / MARK).touch()
        importlib.invalidate_caches()

    def stop(self) -> None:
        self._stopped = True
        if self._installation is not None:
            self._installation.stop()

    def bar(self) -> str:
        found = self._installation
        return "" if found is None else found.bar(time.monotonic() - self._begun)

    def short(self) -> str:
        found = self._installation
        return "" if found is None else found.short()

    def _install(self, file: Path) -> None:
        self._installation = installation = Installation([file])
        if self._stopped:
            installation.stop()
        why = installation.run(self.said.append)
        if not why:
            return
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._log.write_text(installation.said)
        what = "Java" if file.name == JAVA else "Spark"
        raise PipelineError(f"{what} could not be fetched: {why}. {_way_out(why, what)} (pip's words: {self._log})")


def _way_out(why: str, what: str) -> str:
    if "space" in why:
        return f"Make room for {NEEDS_GB} GB in {sys.prefix}, then start this again"
    if "reached" in why:
        return "Look after the network or pip's proxy, then start this again: what has come is kept"
    return f"Start this again, or install {what} by hand"


def _missing(requirements: Path) -> list[str]:
    """Which files are to be installed, the small one first."""
    found = []
    try:
        find_java()
    except PipelineError:
        if not os.environ.get("JAVA_HOME"):  # whoever set it wants that Java and no other
            found.append(JAVA)
    mark = Path(sys.prefix) / MARK
    if not mark.exists() or mark.stat().st_mtime < (requirements / SPARK).stat().st_mtime:
        found.append(SPARK)
    return found

"""The demo's console: its address, once it is there."""

from __future__ import annotations

import threading
from pathlib import Path

from barnabas.cli.console.child import ConsoleChild

_WAIT_SECONDS = 5.0  # the story goes on without it
_BEGINS = "the console is at "


class DemoConsole:
    def __init__(self, bootstrap: str, pipelines: Path) -> None:
        self.address = ""
        self._known = threading.Event()
        self._child = ConsoleChild(bootstrap, self._told, str(pipelines))

    def _told(self, line: str) -> None:
        if line.startswith(_BEGINS):
            self.address = line.removeprefix(_BEGINS)
        self._known.set()

    def wait(self) -> str:
        """Its address; empty where it did not come up in time."""
        self._known.wait(_WAIT_SECONDS)
        return self.address

    def stop(self) -> None:
        self._child.stop()

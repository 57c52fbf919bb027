"""Our own commands that the story runs beside itself: a worker of connectors, and the pipeline on Spark."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from barnabas.cli.common.child import start_command
from barnabas.cli.common.failure import Failure
from barnabas.cli.demo.bus.servers.server import last_line

_STOP_S = 40.0  # the sinks write what they hold
_JOIN_S = 5.0


class LoggedCommand:
    """`barnabas WORDS` with its output in a file. Started by the main thread, as a server is."""

    def __init__(self, words: Sequence[str], log: Path, dies_by: signal.Signals = signal.SIGTERM) -> None:
        self._name, self._log = " ".join(words[:2]), log
        self._child = start_command(words, dies_by)
        self._copying = threading.Thread(target=self._copy, daemon=True)
        self._copying.start()

    def check(self) -> None:
        if self._child.poll() is not None:
            self._copying.join(_JOIN_S)
            raise Failure(f"barnabas {self._name} has ended: {last_line(self._log).removeprefix('barnabas: ')}")

    def stop(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._child.poll() is not None:
                break
            self._child.send_signal(number)
            try:
                self._child.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                continue
        self._copying.join(_JOIN_S)

    def _copy(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as lines, self._log.open("a") as log:
            for line in lines:
                log.write(line)
                log.flush()


def start_worker(files: Sequence[Path], bootstrap: str, log: Path) -> LoggedCommand:
    """When the story is killed its node goes too, and a worker would try for long to tell it that it ends."""
    return LoggedCommand(["connect", "run", *map(str, files), "--bootstrap", bootstrap], log, signal.SIGKILL)


def start_pipeline(file: Path, bootstrap: str, data: Path, log: Path) -> LoggedCommand:
    words = ["pipeline", "run", str(file), "--exactly-once", "--data", str(data), "--bootstrap", bootstrap]
    return LoggedCommand([*words, "--quiet"], log)

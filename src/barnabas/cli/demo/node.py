"""The demo's node: a child process in a temporary folder, and the care to leave nothing behind."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.cli.common.child import is_free
from barnabas.cli.common.failure import Failure
from barnabas.cli.console.child import metrics_listeners
from barnabas.model.processes import ends_with_parent, python_environment, python_module
from barnabas.model.readiness import readable

START_S = 15.0
STOP_S = 10.0


class DemoNode:
    """`with DemoNode(9092, None) as node: node.bootstrap`."""

    def __init__(self, port: int, data: str | None) -> None:
        self.wanted_port = port
        self.port_was_taken = port != 0 and not is_free(port)
        self._folder = None if data is not None else tempfile.TemporaryDirectory(prefix="barnabas-demo-")
        self.data = Path(data).expanduser() if data is not None else Path(self._folder.name)  # type: ignore[union-attr]
        self.kept = data is not None
        self.bootstrap = ""
        self.started_s = 0.0
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def start(self) -> None:
        """Also again, on the same port and data, after `kill`."""
        port = 0 if self.port_was_taken else self.wanted_port
        if self.bootstrap:
            port = int(self.bootstrap.rpartition(":")[2])
        command = [
            *python_module("barnabas.cli.main"),
            "up",
            "--quiet",
            "--port",
            str(port),
            "--data",
            str(self.data),
            "--set",  # lets the pipelines' sink leave a prepared transaction as long as its driver needs
            "transaction.two.phase.commit.enable=true",
            "--set",  # for the console's charts
            f"metrics.listeners={metrics_listeners(1)[0]}",
        ]
        begun = time.monotonic()
        # Its own session: Ctrl-C reaches only us, and we stop the node after the screen is tidy.
        self._child = subprocess.Popen(
            command,
            env=python_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=ends_with_parent(),
        )
        try:
            self.bootstrap = self._ready(self._child)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        self.started_s = time.monotonic() - begun

    def kill(self) -> None:
        """kill -9, as a lost machine ends."""
        assert self._child is not None
        self._child.kill()
        self._child.wait()

    def check(self) -> None:
        """The node must be alive: a demo without one is no demo."""
        assert self._child is not None
        if self._child.poll() is not None:
            raise Failure(f"the node ended: {self._last_words()}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        child = self._child
        if child is not None and child.poll() is None:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(STOP_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        if self._folder is not None:
            self._folder.cleanup()

    def _ready(self, child: subprocess.Popen[str]) -> str:
        """The first line of `up --quiet` is the address, once it is ready."""
        assert child.stdout is not None
        said = readable(child.stdout, START_S)
        line = child.stdout.readline().strip() if said else ""
        if line:
            return line
        if said:
            child.wait(STOP_S)
            raise Failure(f"the node did not start: {self._last_words()}")
        raise Failure(f"the node was not ready after {START_S:.0f} s")

    def _last_words(self) -> str:
        assert self._child is not None and self._child.stderr is not None
        words = self._child.stderr.read().strip().splitlines()
        return words[-1].removeprefix("barnabas: ") if words else f"exit code {self._child.returncode}"

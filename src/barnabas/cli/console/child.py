"""A console as a child of `up` and `demo`: on port 8080, or a free one when that is taken. It ends with its parent."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack

from barnabas.model.processes import ends_with_parent, python_environment, python_module

PORT = 8080
_METRICS_PORT = 9404  # where the JMX exporter is looked for
_STOP_SECONDS = 3.0
_FIRST_WORDS = ("the console is at ", "barnabas: ")  # the address, or the reason why there is none


class ConsoleChild:
    """`told` is called once, in a thread, with the address or with the reason why there is none."""

    def __init__(self, bootstrap: str, told: Callable[[str], None], pipelines: str | None = None) -> None:
        self._told = told
        port = PORT if is_free(PORT) else 0
        command = [*python_module("barnabas.cli.main"), "console", "--bootstrap", bootstrap, "--port", str(port)]
        if pipelines is not None:
            command += ["--pipelines", pipelines]
        self._child = subprocess.Popen(
            command,
            env=python_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C reaches the parent alone, which then ends it
            preexec_fn=ends_with_parent(),
        )
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    def _listen(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as lines:
            told = False
            for line in lines:
                if not told and line.startswith(_FIRST_WORDS):
                    self._told(line.strip().removeprefix("barnabas: ").partition("   ")[0])
                    told = True
                else:
                    sys.stderr.write(line)  # its log is part of ours

    def stop(self) -> None:
        if self._child.poll() is None:
            self._child.terminate()
        try:
            self._child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._listening.join(_STOP_SECONDS)


def metrics_listeners(count: int) -> list[str]:
    """`metrics.listeners` for so many nodes on this machine: from 9404 on, or on free ports where one is taken."""
    ports = list(range(_METRICS_PORT, _METRICS_PORT + count))
    if not all(is_free(port) for port in ports):
        with ExitStack() as held:
            sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
            ports = [each.getsockname()[1] for each in sockets]
    return [f"http://127.0.0.1:{port}" for port in ports]


def is_free(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

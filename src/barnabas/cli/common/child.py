"""A service of ours as a child of `up` and `demo`: it ends with its parent, and its first line says where it is."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

from barnabas.model.processes import ends_with_parent, python_environment, python_module

_STOP_SECONDS = 3.0
_PROBLEM = "barnabas: "


def start_command(words: Sequence[str], dies_by: signal.Signals = signal.SIGTERM) -> subprocess.Popen[str]:
    """`barnabas WORDS` as a child, whose output and errors come together. It ends with this process, by `dies_by`."""
    return subprocess.Popen(
        [*python_module("barnabas.cli.main"), *words],
        env=python_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C reaches the parent alone, which then ends it
        preexec_fn=ends_with_parent(dies_by),
    )


class ServiceChild:
    """`told` is called once, in a thread, with the line that begins with `announced` (the address), or with the reason
    why there is none."""

    def __init__(self, words: Sequence[str], announced: str, told: Callable[[str], None]) -> None:
        self._told = told
        self._command = " ".join(["barnabas", *words])
        self._stopping = False
        self._first_words = (announced, _PROBLEM)
        self._child = start_command(words)
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    def _listen(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as lines:
            told = served = False
            for line in lines:
                if not told and line.startswith(self._first_words):
                    self._told(line.strip().removeprefix(_PROBLEM).partition("   ")[0])
                    told, served = True, not line.startswith(_PROBLEM)
                else:
                    sys.stderr.write(line)  # its log is part of ours
        if served and not self._stopping:
            sys.stderr.write(f"a service has ended by itself. Start it again: {self._command}\n")

    def stop(self) -> None:
        self._stopping = True
        if self._child.poll() is None:
            self._child.terminate()
        try:
            self._child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._listening.join(_STOP_SECONDS)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as trial:
        port: int = trial.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

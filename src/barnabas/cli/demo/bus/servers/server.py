"""What every server of the story has in common, and its process.

A server goes through `prepare` (found, or fetched and installed), `launch`, `wait` and `stop`. The first and the third
raise Missing: then the part that needs it is left out. Launching does not wait, so that all of them start beside each
other; it is done by the main thread, because a child is told by the kernel when the thread ends that started it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from barnabas.cli.demo.bus.servers.missing import Missing
from barnabas.model.processes import ends_with_parent

START_S = 120.0  # a machine may be busy
STOP_S = 10.0
_LOOK_S = 0.05
_LOG_BYTES = 4096


@dataclass(frozen=True)
class Account:
    """Another user that a process runs as."""

    uid: int
    gid: int


class Server(ABC):
    title: ClassVar[str]

    def __init__(self) -> None:
        self.took_s = 0.0

    @abstractmethod
    def prepare(self) -> None:
        """Finds it. Raises Missing."""

    @abstractmethod
    def launch(self) -> None: ...

    @abstractmethod
    def wait(self) -> None:
        """Until it answers. Raises Missing."""

    @abstractmethod
    def stop(self) -> None:
        """Also when it was never started."""

    @property
    @abstractmethod
    def address(self) -> str: ...


class OwnServer(Server):
    """One that is always the demo's own: a process that answers on a port."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._process: ServerProcess | None = None
        self._port = 0

    def wait(self) -> None:
        assert self._process is not None
        self.took_s = self._process.wait_until(lambda: answers(self._port))

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop(signal.SIGTERM)


class ServerProcess:
    """A child process with its output in a file. It ends with this process, by `dies_by`."""

    def __init__(
        self,
        title: str,
        command: Sequence[str],
        log: Path,
        *,
        account: Account | None = None,
        environment: Mapping[str, str] | None = None,
        dies_by: signal.Signals = signal.SIGTERM,
    ) -> None:
        self._title, self._log = title, log
        self._begun = time.monotonic()
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                command,
                cwd=log.parent,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches this process alone, which then stops it
                preexec_fn=ends_with_parent(dies_by),
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )

    def wait_until(self, is_ready: Callable[[], bool]) -> float:
        """The seconds that it took from its launch. Raises Missing."""
        while not is_ready():
            if self._process.poll() is not None:
                raise Missing(f"{self._title} did not start: {last_line(self._log) or 'it gave no reason'}")
            if time.monotonic() - self._begun > START_S:
                raise Missing(f"{self._title} was not ready after {START_S:.0f} s")
            time.sleep(_LOOK_S)
        return time.monotonic() - self._begun

    def stop(self, *numbers: signal.Signals) -> None:
        """By these signals, one after the other, and in the end by SIGKILL."""
        for number in (*numbers, signal.SIGKILL):
            if self._process.poll() is not None:
                break
            self._process.send_signal(number)
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                continue


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def last_line(log: Path) -> str:
    """The last words of a process that ended."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _LOG_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "")

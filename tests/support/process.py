"""A server as a child process: started, awaited by its port, stopped by SIGTERM (by SIGKILL in the end), its log
kept for the report."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def _end_with_parent() -> None:
    """Runs in the child: a test run that is killed must not leave its servers behind (prctl PR_SET_PDEATHSIG)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def free_port() -> int:
    """A port nobody listens on now. Below the ephemeral range, so that no outgoing connection takes it between now
    and the start."""
    import random

    rng = random.Random(os.getpid() ^ time.time_ns())
    while True:
        port = rng.randrange(12_000, 31_000)
        with contextlib.suppress(OSError), socket.socket() as a, socket.socket() as b:
            a.bind(("127.0.0.1", port))
            b.bind(("127.0.0.1", port + 1))
            return port


def end(process: subprocess.Popen[Any]) -> None:
    """Kills the process if it still runs, waits for it, and closes its pipes."""
    with process:
        process.kill()


class ServerProcess:
    """One server child. `log_path` holds its output; `tail()` is what a failing test shows."""

    def __init__(self, command: Sequence[str], port: int, log_path: Path, env: Mapping[str, str] | None = None) -> None:
        self.command, self.port, self.log_path = list(command), port, log_path
        self.env = {**os.environ, **(env or {})}
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def launch(self) -> None:
        """Start, and wait for nothing."""
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.env,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def start(self, timeout_seconds: float = 60) -> float:
        """Start and wait until the port accepts; returns the seconds that took."""
        began = time.perf_counter()
        self.launch()
        assert self.process is not None
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return time.perf_counter() - began
            if self.process.poll() is not None:
                raise RuntimeError(
                    f"server left with {self.process.returncode}: {' '.join(self.command)}\n{self.tail()}"
                )
            if time.perf_counter() - began > timeout_seconds:
                self.kill()
                raise RuntimeError(f"server not up in {timeout_seconds} s\n{self.tail()}")
            time.sleep(0.01)

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self, timeout_seconds: float = 20) -> int:
        """SIGTERM and wait; SIGKILL when it does not leave. Returns the exit code."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout_seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.returncode

    def kill(self) -> None:
        """kill -9, as the crash tests mean it."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)

    def tail(self, lines: int = 60) -> str:
        if not self.log_path.exists():
            return "(no log)"
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])

    def rss_bytes(self) -> int:
        """Resident memory now, from /proc."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> ServerProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

"""Drivers as processes of their own, to be killed with everything they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.support.process import _end_with_parent

ROOT = Path(__file__).resolve().parents[2]
# A Java that lives for seconds: compiling its code well costs more than running it, and a fifth of its start is
# verifying Spark's classes.
_QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
SHORT_LIVED_JAVA = {"JAVA_TOOL_OPTIONS": _QUICK_JAVA}
# Spark gives up on a Python worker that does not come up in ten seconds. On a busy machine that is no fault of what is
# tested: the query is started again, as `barnabas pipeline run` does, so many times.
SLOW_START, BUSY_TIMES = "Python worker failed to connect back", 5
TASKS, COMMITS = "pyspark.worker", "pyspark.sql.worker.python_streaming_sink_runner"  # modules of Python workers
QUICK_START = ("--conf", "spark.sql.codegen.wholeStage=false", "--conf", "spark.sql.adaptive.enabled=false")


class DriverProcess:
    """`python -m module arguments...` in a session of its own: Java and the Python workers are killed with it."""

    def __init__(self, module: str, *arguments: str, log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={**os.environ, **SHORT_LIVED_JAVA},
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def kill(self) -> None:
        """kill -9 of the driver and of all it started: nobody gets to say goodbye."""
        for pid in self.descendants():
            _kill(pid)
        self.process.wait(30)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.kill()
        else:
            for pid in self.descendants():
                _kill(pid)

    def wait(self, timeout_s: float = 900) -> int:
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the driver does not end\n{self.tail()}") from None

    def descendants(self) -> list[int]:
        """The driver and every process that it or its children started, the driver first."""
        return descendants_of(self.process.pid)

    def python_workers(self, *modules: str) -> list[int]:
        """The processes that run Python code for Spark: children of its daemons, unless they are at rest. Only those
        that run one of these modules, where some are given."""
        return python_workers_of(self.process.pid, *modules)

    def await_log(self, text: str, timeout_s: float = 300) -> None:
        deadline = time.monotonic() + timeout_s
        while text not in self.log.read_text():
            assert self.process.poll() is None, f"the driver ended\n{self.tail()}"
            assert time.monotonic() < deadline, f"no {text!r}\n{self.tail()}"
            time.sleep(0.05)

    def tail(self) -> str:
        return self.log.read_text()[-4000:]


def descendants_of(driver: int) -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(text.rpartition(")")[2].split()[1])
    found, edge = [driver], [driver]
    while edge:
        edge = [pid for pid, parent in parents.items() if parent in edge]
        found += edge
    return found


def python_workers_of(driver: int, *modules: str) -> list[int]:
    found = []
    for pid in descendants_of(driver)[1:]:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_text()
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            parent_command = Path(f"/proc/{parent}/cmdline").read_text()
        except OSError:
            continue
        wanted = command.rstrip("\0").endswith(modules) if modules else not is_at_rest(command)
        if "pyspark.daemon" in command and "pyspark.daemon" in parent_command and wanted:
            found.append(pid)
    return found


def is_at_rest(command: str) -> bool:
    """Python that made a source known to Spark and has nothing to do any more: killing it would prove nothing."""
    return command.rstrip("\0").endswith(("lookup_data_sources", "create_data_source"))


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return

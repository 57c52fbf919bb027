"""A real Spark standalone cluster on this machine: one master, two workers, from PySpark's own package.

PySpark ships no start scripts for them, but the classes are in its jars; `bin/spark-class` runs them in the
foreground. A worker registers with the master by itself, and each has one core and an executor of its own, so that a
query with two tasks runs on both. Each has a loopback address of its own (127.0.0.2, 127.0.0.3, ...), because Spark
never speculates on the host of the first attempt. Everything ends with the `with`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from barnabas.pipelines.java import find_java
from tests.spark.drivers import SHORT_LIVED_JAVA
from tests.support.process import _end_with_parent, free_port

MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
HOST = "127.0.0.1"
UP_S = 120.0


class Standalone:
    """`url` is what `--master` takes."""

    def __init__(self, folder: Path, *, workers: int = 2, cores: int = 1, memory: str = "700m") -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"spark://{HOST}:{self.port}"
        self._shape = (workers, cores, memory)
        self.master: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self) -> Standalone:
        workers, _, _ = self._shape
        self.master = self._run("master", HOST, MASTER, "--port", str(self.port))
        for number in range(workers):
            self.start_worker(number)
        self.await_workers(workers)
        return self

    def start_worker(self, number: int) -> None:
        _, cores, memory = self._shape
        work = self.folder / f"work-{number}"
        arguments = ("--cores", str(cores), "--memory", memory, "--work-dir", str(work), self.url)
        self.workers.append(self._run(f"worker-{number}", f"127.0.0.{number + 2}", WORKER, *arguments))

    def await_workers(self, count: int) -> None:
        deadline = time.monotonic() + UP_S
        while self._log("master").count("Registering worker") < count:
            assert time.monotonic() < deadline, self._log("master")[-2000:]
            assert self.master is not None and self.master.poll() is None, self._log("master")[-2000:]
            for number, worker in enumerate(self.workers):
                assert worker.poll() is None, self._log(f"worker-{number}")[-2000:]
            time.sleep(0.1)

    def kill_worker(self, number: int) -> None:
        """kill -9 of the worker with its executors: each has a session of its own, and its children are in it."""
        _kill_group(self.workers[number])

    def stop(self) -> None:
        for process in (*self.workers, *([self.master] if self.master else [])):
            _kill_group(process)

    def _run(self, name: str, host: str, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = Path(pyspark.__file__).parent
        env = {
            **os.environ,
            **SHORT_LIVED_JAVA,
            "SPARK_HOME": str(home),
            "JAVA_HOME": str(find_java()),
            "SPARK_LOCAL_IP": host,
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [str(home / "bin" / "spark-class"), kind, "--host", host, "--webui-port", "0", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def _log(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(30)


@contextmanager
def standalone_cluster(folder: Path, **shape: int | str) -> Iterator[Standalone]:
    """`with standalone_cluster(tmp_path) as cluster: ... --master cluster.url`"""
    cluster = Standalone(folder, **shape)  # type: ignore[arg-type]
    try:
        yield cluster.start()
    finally:
        cluster.stop()

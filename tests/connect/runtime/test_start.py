"""How soon a worker has written its first record, and how much memory it takes.

A second is the goal on a machine that has nothing else to do. How long the interpreter takes to import what a worker
needs says how busy this one is: the bounds grow with it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer

from tests.support.connect import ENVIRONMENT, ConnectWorker, size_of, written
from tests.support.members import QUIET, until
from tests.support.servers import BarnabasNode

IMPORTS = "import barnabas.cli.connect.running, barnabas.cli.connect.files, barnabas.connect.connectors.logs.source"
IMPORTS_S = 0.3  # on a machine with nothing else to do
FIRST_S = 1.0
ATTEMPTS = 3
MEMORY_MB = 60


def imports_s() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", IMPORTS], env=ENVIRONMENT, check=True, timeout=60)
    return time.perf_counter() - began


def memory_mb(worker: ConnectWorker) -> float:
    status = Path(f"/proc/{worker.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def first_record_in_time(make: Callable[[int], ConnectWorker], is_there: Callable[[int], bool]) -> None:
    """The best of some attempts, each with a connector that is new to the cluster."""
    found: list[str] = []
    for attempt in range(ATTEMPTS):
        slow = max(1.0, imports_s() / IMPORTS_S)
        worker = make(attempt)
        began = time.perf_counter()
        worker.launch()
        try:
            until(lambda number=attempt: is_there(number), "the first record", 60)  # type: ignore[misc]
            took = time.perf_counter() - began
            assert memory_mb(worker) <= MEMORY_MB
        finally:
            worker.stop()
        if took <= FIRST_S * slow:
            return
        found.append(f"{took:.2f} s where the machine takes {slow:.1f} times as long as it might")
    raise AssertionError("; ".join(found))


def test_a_source(node: BarnabasNode, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("it begins\n")

    def make(attempt: int) -> ConnectWorker:
        definition = written(
            tmp_path / f"start{attempt}.yaml",
            f"""
            name: start{attempt}
            from: {{logs: {{paths: ["{tmp_path}/app.log"]}}}}
            to: {{topic: started{attempt}}}
            """,
        )
        return ConnectWorker(node.bootstrap, tmp_path / f"{attempt}.log", definition)

    first_record_in_time(make, lambda attempt: size_of(node.bootstrap, f"started{attempt}") > 0)


def test_a_sink(node: BarnabasNode, tmp_path: Path) -> None:
    producer = Producer({**QUIET, "bootstrap.servers": node.bootstrap})
    producer.produce("to-start", b'{"n": 1}')
    assert not producer.flush(20)

    def make(attempt: int) -> ConnectWorker:
        written(tmp_path / "writing.py", WRITING)
        definition = written(
            tmp_path / f"sink{attempt}.yaml",
            f"""
            name: start-sink{attempt}
            from: {{topics: [to-start]}}
            to: {{python: {{file: writing.py, target: "{tmp_path}/done{attempt}"}}}}
            """,
        )
        return ConnectWorker(node.bootstrap, tmp_path / f"sink{attempt}.log", definition)

    first_record_in_time(make, lambda attempt: (tmp_path / f"done{attempt}").exists())


WRITING = """
    from pathlib import Path

    def write(records, options):
        Path(options["target"]).write_text(str(len(records)))
"""


def test_a_worker_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    """Each of these is megabytes, or a tenth of a second: for other commands, or for connectors that use them."""
    program = f"{IMPORTS}, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, check=True, capture_output=True, text=True)
    unwanted = {"typer", "pydantic", "rich", "numpy", "pandas", "pyarrow", "re2", "pyspark", "psycopg", "sqlalchemy"}
    assert not unwanted & set(done.stdout.split())

"""Connectors on Spark: they go on where the process engine was, and back, and nothing is missing or twice after
`kill -9` of the driver, of Java and of the Python processes that do the work.

One worker on Spark serves all tests of this file; the one that kills it starts it again.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.cli.connect.telling import rows_of
from barnabas.connect.cluster import status
from barnabas.connect.cluster.connection import Cluster
from barnabas.testing import RunningNode
from tests.spark.drivers import SHORT_LIVED_JAVA, TASKS, descendants_of, python_workers_of
from tests.spark.standalone import standalone_cluster
from tests.support.connect import ConnectWorker, all_records, connect, running, size_of, written
from tests.support.members import QUIET, until

TOKEN, SECRET = "BARNABAS_TEST_TOKEN", "kept-to-ourselves"
LONG_S = 120  # a busy machine starts Java in half a minute

COUNTING = """
    import time

    def read(position, options):
        assert options["token"] == "kept-to-ourselves"
        number = (position or {"number": 0})["number"]
        for _ in range(100):
            number += 1
            yield {"number": number}, {"number": number}
        time.sleep(0.02)
"""

WRITING = """
    import json, time
    from pathlib import Path
    from barnabas.connect import Rejected, Unavailable

    def write(records, options):
        folder = Path(options["folder"])
        if (folder / "down").exists():
            raise Unavailable("the target is down")
        while (folder / "slow").exists():
            (folder / "waits").touch()
            time.sleep(0.1)
        refused = [Rejected(each, "the target does not like it") for each in records if each.value.get("bad")]
        for each in records:
            if not each.value.get("bad"):
                (folder / f"{each.topic}-{each.partition}-{each.offset}").write_text(json.dumps(each.value))
        return refused
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("connect")
    os.environ[TOKEN] = SECRET
    written(made / "counting.py", COUNTING)
    written(made / "writing.py", WRITING)
    yield made
    del os.environ[TOKEN]


@pytest.fixture(scope="module")
def on_spark(node: RunningNode, folder: Path) -> Iterator[ConnectWorker]:
    worker = ConnectWorker(node.bootstrap, folder / "spark.log", **SHORT_LIVED_JAVA)
    worker.command += ["--spark", "--functions", str(folder)]
    with running(worker):
        yield worker


@pytest.fixture
def in_a_process(node: RunningNode, folder: Path) -> Iterator[ConnectWorker]:
    worker = ConnectWorker(node.bootstrap, folder / "process.log")
    worker.command += ["--functions", str(folder)]
    with running(worker):
        yield worker


class Moving:
    """A source that counts into a topic, and a sink from there into a table that keeps the next offset."""

    def __init__(self, bootstrap: str, folder: Path, name: str) -> None:
        self.bootstrap, self.folder, self.name = bootstrap, folder, name
        self.database = folder / f"{name}.duckdb"

    def file(self, engine: str, spark: str = "") -> Path:
        return written(
            self.folder / f"{self.name}.yaml",
            f"""
            name: {self.name}
            from: {{python: {{file: counting.py, token: "${{env:{TOKEN}}}"}}}}
            to: {{topic: {self.name}, partitions: 2}}
            engine: {engine}
            spark: {{round_s: 2{spark}}}
            ---
            name: {self.name}-rows
            from: {{topics: [{self.name}]}}
            to: {{duckdb: {{path: "{self.database}", table: rows, mode: append}}}}
            engine: {engine}
            tasks: 1  # a file of DuckDB is open in one process at a time
            spark: {{round_s: 2{spark}}}
            """,
        )

    def run_on(self, engine: str) -> None:
        """Where they are from now on: both have to be running there, and to get on."""
        connect(self.bootstrap, "add", str(self.file(engine)))
        self.gets_on()

    def gets_on(self) -> None:
        written_before, read_before = size_of(self.bootstrap, self.name), self.delivered()
        until(lambda: size_of(self.bootstrap, self.name) > written_before + 500, "the source gets on", LONG_S)
        until(lambda: self.delivered() > read_before + 500, "the sink gets on", LONG_S)

    def delivered(self) -> int:
        """By the offsets of the sink's group."""
        consumer = Consumer({**QUIET, "bootstrap.servers": self.bootstrap, "group.id": f"connect-{self.name}-rows"})
        try:
            found = consumer.committed([TopicPartition(self.name, each) for each in range(2)], timeout=10)
        finally:
            consumer.close()
        return sum(max(0, each.offset) for each in found)

    def end(self) -> None:
        connect(self.bootstrap, "pause", self.name)
        until(lambda: works_on(self.bootstrap, self.name) == [], "the source has stopped", LONG_S)
        until(lambda: self.delivered() == size_of(self.bootstrap, self.name), "everything is delivered", LONG_S)
        connect(self.bootstrap, "pause", f"{self.name}-rows")
        until(lambda: works_on(self.bootstrap, f"{self.name}-rows") == [], "the sink has stopped", LONG_S)

    def check(self) -> int:
        """Every number once in the topic, every record once in the table."""
        records = [
            (each.partition(), each.offset(), json.loads(each.value() or b"")["number"])
            for each in all_records(self.bootstrap, self.name)
        ]
        assert sorted(number for *_, number in records) == list(range(1, len(records) + 1))
        with duckdb.connect(str(self.database), read_only=True) as database:
            rows = database.execute("select kafka_partition, kafka_offset, number from rows").fetchall()
        assert sorted(rows) == sorted(records)
        return len(rows)


def works_on(bootstrap: str, connector: str) -> list[str]:
    """Workers that have tasks of it."""
    return [
        each.worker
        for each in status.read_all(Cluster(bootstrap))
        if each.connector == connector and not each.is_silent and each.state != "stopped"
    ]


def test_connectors_move_between_engines(
    node: RunningNode, folder: Path, on_spark: ConnectWorker, in_a_process: ConnectWorker
) -> None:
    moving = Moving(node.bootstrap, folder, "moving")
    moving.run_on("process")
    moving.run_on("spark")
    assert all(f"-{on_spark.pid}-" in each for each in works_on(node.bootstrap, "moving-rows"))
    on_spark.kill()  # in the middle: neither source nor sink ever ends by itself
    on_spark.start()
    moving.gets_on()
    moving.run_on("process")
    moving.end()
    assert moving.check() > 2000


class Target:
    """A topic, and a sink on Spark that writes a file for each record."""

    def __init__(self, bootstrap: str, folder: Path, name: str) -> None:
        self.bootstrap, self.name = bootstrap, name
        self.files = folder / name
        self.files.mkdir()
        self.sent = 0
        self.send(1)
        file = written(
            folder / f"{name}.yaml",
            f"""
            name: {name}
            from: {{topics: [{name}-in], format: json}}
            to: {{python: {{file: writing.py, folder: "{self.files}"}}}}
            engine: spark
            spark: {{round_s: 2}}
            """,
        )
        connect(bootstrap, "add", str(file))

    def send(self, count: int, *others: bytes) -> None:
        producer = Producer({**QUIET, "bootstrap.servers": self.bootstrap})
        for number in range(self.sent, self.sent + count):
            producer.produce(f"{self.name}-in", json.dumps({"number": number}).encode())
        for each in others:
            producer.produce(f"{self.name}-in", each)
        assert producer.flush(10) == 0
        self.sent += count

    def has_all(self) -> None:
        def numbers() -> list[int]:
            found = [each for each in self.files.iterdir() if each.name.startswith(f"{self.name}-in")]
            return sorted(json.loads(each.read_text() or '{"number": -1}')["number"] for each in found)

        until(lambda: numbers() == list(range(self.sent)), "every record is there", LONG_S)

    def problem(self) -> str:
        return next(each.problem for each in rows_of(Cluster(self.bootstrap)) if each.name == self.name)


def test_what_goes_wrong_in_a_task(node: RunningNode, folder: Path, on_spark: ConnectWorker) -> None:
    target = Target(node.bootstrap, folder, "files")
    target.has_all()
    target.send(10, b"no json", b'{"bad": true}')
    target.has_all()
    until(lambda: len(all_records(node.bootstrap, "files.dead")) == 2, "dead letters")

    (target.files / "down").touch()
    target.send(10)
    until(lambda: "the target is down" in target.problem(), "the problem is told", LONG_S)
    (target.files / "down").unlink()
    target.has_all()
    until(lambda: not target.problem(), "the problem is over")

    target.send(2000)
    for pid in python_workers_of(on_spark.pid, TASKS):
        os.kill(pid, signal.SIGKILL)
    target.send(10)
    target.has_all()
    connect(node.bootstrap, "remove", "files", "--yes")
    until(lambda: not works_on(node.bootstrap, "files"), "it is gone", LONG_S)
    on_spark.stop()  # by SIGTERM
    assert not descendants_of(on_spark.pid)[1:]
    assert "Traceback" not in on_spark.log_path.read_text()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_rounds_that_do_not_end_and_java_that_does(node: RunningNode, folder: Path, on_spark: ConnectWorker) -> None:
    on_spark.stop()
    on_spark.start()
    target = Target(node.bootstrap, folder, "slow")
    target.has_all()

    (target.files / "slow").touch()
    target.send(10)
    until(lambda: (target.files / "waits").exists(), "a task hangs", LONG_S)
    connect(node.bootstrap, "pause", target.name)
    until(lambda: not works_on(node.bootstrap, target.name), "it has stopped", LONG_S)
    (target.files / "slow").unlink()
    connect(node.bootstrap, "resume", target.name)
    target.has_all()

    target.send(2000)
    [java] = [each for each in descendants_of(on_spark.pid) if "java" in Path(f"/proc/{each}/comm").read_text()]
    os.kill(java, signal.SIGKILL)
    target.send(10)
    target.has_all()
    until(lambda: not target.problem(), "the problem is over", LONG_S)
    assert "Traceback" not in on_spark.log_path.read_text()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_cluster_loses_machines(node: RunningNode, folder: Path, tmp_path: Path) -> None:
    """Executors in processes of their own, on two workers; each is killed once, and the secrets are nowhere in what
    Spark writes down."""
    events = tmp_path / "events"
    events.mkdir()
    moving = Moving(node.bootstrap, folder, "cluster")
    with standalone_cluster(tmp_path) as cluster:
        conf = {"master": cluster.url, "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{events}"}
        conf |= {"spark.executor.memory": "500m"}
        file = moving.file("spark", "".join(f', {name}: "{value}"' for name, value in conf.items()))
        worker = ConnectWorker(node.bootstrap, tmp_path / "worker.log", file, **SHORT_LIVED_JAVA)
        with running(worker):
            moving.gets_on()
            cluster.kill_worker(0)
            moving.gets_on()
            cluster.start_worker(2)
            cluster.kill_worker(1)
            moving.gets_on()
            moving.end()
        assert moving.check() > 2000
    told = [each for each in events.rglob("*") if each.is_file()]
    assert told and not any(SECRET.encode() in each.read_bytes() for each in told)

"""The real Kafka Connect against Barnabas: distributed workers, Debezium's PostgreSQL source with exactly-once
delivery, its JDBC sink, the file connectors; workers and nodes killed under load."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.connect.kafka_connect.changes import TABLE, Changes, debezium, differences, histories, jdbc, records
from tests.support.cluster import BarnabasCluster
from tests.support.figures import Figure
from tests.support.kafka_connect import FILE_SINK, FILE_SOURCE, STRINGS, KafkaConnectWorker
from tests.support.members import until
from tests.support.postgres import Postgres
from tests.support.servers import BarnabasNode

TOPIC = "shop.public.orders"
ROUNDS = 3
ROWS = 50
LOOK_S = 3.0  # at failed tasks: their state is in a topic, and told a moment later

# A source task that is starting asks the worker that leads for leave, and fails for good where that one has just been
# killed, or cannot read the configuration topic, whose leader has just been killed. Nothing else may fail a task.
FAILURES_OF_CONNECT = ("IO Error trying to forward REST request", "Failed to read to end of config topic")


class Tables:
    """The table `orders`, and `orders_copy` in another database, which the sink makes."""

    def __init__(self, database: Postgres) -> None:
        self._source, self._target = database.connect("postgres"), database.connect("copy")

    def same(self) -> bool:
        return self._copy_is_there() and self._rows(self._source, "orders") == self._rows(self._target, "orders_copy")

    def has_all(self, first: int, last: int) -> bool:
        """Whether every row of these ids is in the copy, unless it is deleted meanwhile."""
        if not self._copy_is_there():
            return False
        copied = self._target.execute("select id from orders_copy where id between %s and %s", (first, last))
        there = self._source.execute("select id from orders where id between %s and %s", (first, last))
        return set(there) <= set(copied)

    def _copy_is_there(self) -> bool:
        return bool(self._target.execute("select to_regclass('orders_copy') is not null").fetchall()[0][0])

    @staticmethod
    def _rows(connection: psycopg.Connection, table: str) -> list[tuple[object, ...]]:
        return connection.execute(f"select id, customer, amount, note from {table} order by id").fetchall()

    def close(self) -> None:
        self._source.close()
        self._target.close()


@pytest.fixture
def database() -> Iterator[Postgres]:
    with Postgres() as started:
        started.execute("create database copy")
        started.execute(TABLE)
        yield started


@pytest.fixture
def tables(database: Postgres) -> Iterator[Tables]:
    made = Tables(database)
    yield made
    made.close()


def test_a_worker_copies_files_and_a_database(tmp_path: Path, database: Postgres, tables: Tables) -> None:
    lines = [f"line {each}" for each in range(500)]
    (tmp_path / "in.txt").write_text("".join(f"{each}\n" for each in lines))
    out = tmp_path / "out.txt"
    with (
        Changes(database) as changes,
        BarnabasNode(tmp_path / "node") as node,
        KafkaConnectWorker(tmp_path / "worker", node.bootstrap) as worker,
    ):
        changes.transaction(50)
        texts = {"key.converter": STRINGS, "value.converter": STRINGS, "tasks.max": "1"}
        source = {**texts, "connector.class": FILE_SOURCE, "file": f"{tmp_path}/in.txt", "topic": "lines"}
        worker.put("lines-in", source)
        worker.put("shop", debezium(database, "shop", "public.orders"))
        worker.put("lines-out", {**texts, "connector.class": FILE_SINK, "file": str(out), "topics": "lines"})
        worker.put("copy", jdbc(database, TOPIC, "orders_copy", "copy"))
        for _ in range(20):
            changes.transaction(5)
        until(lambda: out.exists() and out.read_text().splitlines() == lines, "the file is copied", 60)
        until(tables.same, "the table is copied", 60)
        found = histories(records(node.bootstrap, TOPIC))
    assert differences(changes.history, found) == []


class Setting:
    """Three nodes, two workers, a source and a sink, and a table that changes all the time."""

    def __init__(
        self, cluster: BarnabasCluster, workers: list[KafkaConnectWorker], changes: Changes, tables: Tables
    ) -> None:
        self.cluster, self.workers, self.changes, self.tables = cluster, workers, changes, tables
        self.failures: list[str] = []  # of tasks that had to be restarted
        self._looked = 0.0

    def goes_on(self, after: str) -> float:
        """Until rows that are inserted from now on, enough for every partition, are in the copy; the seconds that
        took."""
        began, last = time.monotonic(), self.changes.last_id
        until(lambda: self.changes.last_id > last + ROWS, "the table changes", 30)
        until(lambda: self._came(last + 1, last + ROWS), f"changes go through after {after}", 120)
        return round(time.monotonic() - began, 1)

    def _came(self, first: int, last: int) -> bool:
        if time.monotonic() - self._looked > LOOK_S:
            for connector in ("shop", "copy"):
                worker = next(each for each in self.workers if each.alive())
                self.failures += worker.restart_failed(connector)
            self._looked = time.monotonic()
        return self.tables.has_all(first, last)

    def kill_worker_of(self, connector: str) -> float:
        """The one that runs task 0 of it; started again when the other has taken over."""
        until(lambda: any(each.worker_of(connector) for each in self.workers), f"{connector} runs", 60)
        address = next(found for each in self.workers if (found := each.worker_of(connector)))
        worker = next(each for each in self.workers if each.bootstrap == address)
        worker.kill()
        took = self.goes_on(f"kill -9 of the worker of {connector}")
        worker.start()
        return took

    def kill_leader_of(self, topic: str) -> float:
        number = self.cluster.leader(topic)
        self.cluster.kill(number)
        took = self.goes_on(f"kill -9 of the leader of {topic}")
        self.cluster.start(number)
        for each in (TOPIC, "connect-configs", "connect-offsets", "connect-status"):
            partitions = 1 if each == "connect-configs" else 3
            self.cluster.await_isr(each, 3, partitions, 60)
        return took

    def running(self) -> bool:
        states = [self.workers[0].states(each) for each in ("shop", "copy")]
        return states == [("RUNNING",) * 2, ("RUNNING",) * 3]


@pytest.fixture
def setting(tmp_path: Path, database: Postgres, tables: Tables) -> Iterator[Setting]:
    cluster = BarnabasCluster(tmp_path, 3)
    workers: list[KafkaConnectWorker] = []
    with Changes(database) as changes:
        try:
            cluster.start()
            for each in (1, 2):
                workers.append(KafkaConnectWorker(tmp_path / f"worker-{each}", cluster.bootstrap, replicas=3))
                workers[-1].launch()
            for worker in workers:
                worker.await_group()
            yield Setting(cluster, workers, changes, tables)
        finally:
            for worker in workers:
                worker.kill()
            cluster.stop()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_killed_workers_and_nodes_lose_and_repeat_nothing(setting: Setting, database: Postgres, figure: Figure) -> None:
    changes, worker = setting.changes, setting.workers[0]
    for _ in range(40):
        changes.transaction(5)
    changes.start()
    made = {"topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "3"}
    worker.put("shop", {**debezium(database, "shop", "public.orders"), **made})
    worker.await_running("shop")
    worker.put("copy", jdbc(database, TOPIC, "orders_copy", "copy"))
    worker.await_running("copy", 2)
    setting.goes_on("the snapshot")
    worker_s: list[float] = []
    node_s: list[float] = []
    for _ in range(ROUNDS):
        worker_s.append(setting.kill_worker_of("shop"))
        node_s.append(setting.kill_leader_of(TOPIC))
        worker_s.append(setting.kill_worker_of("copy"))
        node_s.append(setting.kill_leader_of("connect-configs"))
        node_s.append(setting.kill_leader_of("__transaction_state"))
    changes.stop()
    until(setting.tables.same, "the copy is the table", 120)
    until(setting.running, "all tasks run", 30)
    assert [each for each in setting.failures if not any(known in each for known in FAILURES_OF_CONNECT)] == []
    assert differences(changes.history, histories(records(setting.cluster.bootstrap, TOPIC))) == []
    figure(
        "kafka-connect",
        changes=changes.count,
        worker_kills=len(worker_s),
        worker_worst_s=max(worker_s),
        node_kills=len(node_s),
        node_worst_s=max(node_s),
        failed_tasks=len(setting.failures),
    )

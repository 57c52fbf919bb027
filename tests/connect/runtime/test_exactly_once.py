"""Sources and sinks while workers and nodes are killed: nothing missing, nothing twice.

The source counts, from its position on, as fast as it can; the sink writes rows named by offset into SQLite, and keeps
no offset there, so what is written twice would show as a different count of writes only where it is not idempotent.
"""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path

import pytest

from tests.support.connect import ConnectWorker, all_records, running, size_of, written
from tests.support.members import until
from tests.support.servers import BarnabasNode

COUNTING = """
    import time

    def read(position, options):
        number = (position or {"number": 0})["number"]
        for _ in range(200):
            number += 1
            yield {"number": number}, {"number": number}
        time.sleep(0.01)
"""

ROWS = """
    import sqlite3

    def write(records, options):
        with sqlite3.connect(options["database"], timeout=30) as database:
            database.executemany(
                "insert or ignore into rows values (?, ?, ?)",
                [(record.partition, record.offset, record.value["number"]) for record in records],
            )
"""


def source(folder: Path, name: str) -> Path:
    written(folder / "counting.py", COUNTING)
    return written(
        folder / f"{name}.yaml",
        f"""
        name: {name}
        from: {{python: {{file: counting.py}}}}
        to: {{topic: {name}, partitions: 3}}
        """,
    )


def numbers_of(bootstrap: str, topic: str) -> list[int]:
    import json

    return [json.loads(each.value() or b"")["number"] for each in all_records(bootstrap, topic)]


def grows(bootstrap: str, topic: str, by: int = 1000) -> None:
    before = size_of(bootstrap, topic)
    until(lambda: size_of(bootstrap, topic) > before + by, f"{topic} grows by {by}", 60)


def test_workers_killed(node: BarnabasNode, tmp_path: Path) -> None:
    """Two workers share the source; whoever reads is killed, again and again."""
    file = source(tmp_path, "killed-workers")
    workers = [ConnectWorker(node.bootstrap, tmp_path / f"worker{each}.log", file) for each in range(2)]
    chance = random.Random(1)
    with running(*workers):
        grows(node.bootstrap, "killed-workers")
        for _ in range(4):
            time.sleep(chance.uniform(0.2, 1.0))
            victim = chance.choice(workers)
            victim.kill()
            victim.start()
        grows(node.bootstrap, "killed-workers", 1000)
    numbers = sorted(numbers_of(node.bootstrap, "killed-workers"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_worker_ends_without_its_cluster(tmp_path: Path) -> None:
    """Not after the half minute that a commit waits for the node."""
    import signal

    with BarnabasNode(tmp_path / "node") as own:
        worker = ConnectWorker(own.bootstrap, tmp_path / "worker.log", source(tmp_path, "left-alone"))
        with running(worker):
            grows(own.bootstrap, "left-alone")
            own.kill()
            began = time.monotonic()
            worker.signal(signal.SIGTERM)
            until(lambda: not worker.alive(), "it ends", 30)
            assert time.monotonic() - began < 8, worker.tail()  # 3.6 s; a busy machine takes longer


def test_a_paused_worker_is_fenced(node: BarnabasNode, tmp_path: Path) -> None:
    """It stops in the middle, another takes over, and it goes on as if nothing had happened."""
    import os
    import signal

    file = source(tmp_path, "paused-worker")
    first = ConnectWorker(node.bootstrap, tmp_path / "first.log", file)
    second = ConnectWorker(node.bootstrap, tmp_path / "second.log", file)
    with running(first):
        grows(node.bootstrap, "paused-worker")
        os.kill(first.pid, signal.SIGSTOP)
        try:
            with running(second):
                grows(node.bootstrap, "paused-worker", 1000)
                os.kill(first.pid, signal.SIGCONT)
                grows(node.bootstrap, "paused-worker", 2000)
        finally:
            os.kill(first.pid, signal.SIGCONT)
    numbers = sorted(numbers_of(node.bootstrap, "paused-worker"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_node_killed_between_source_and_sink(tmp_path: Path) -> None:
    node = BarnabasNode(tmp_path / "node")
    database = tmp_path / "rows.db"
    with sqlite3.connect(database) as made:
        made.execute(
            "create table rows (partition integer, place integer, number integer, primary key (partition, place))"
        )
    written(tmp_path / "rows.py", ROWS)
    out = written(
        tmp_path / "out.yaml",
        f"""
        name: out
        from: {{topics: [through]}}
        to: {{python: {{file: rows.py, database: "{database}"}}}}
        """,
    )
    files = (source(tmp_path, "through"), out)
    worker = ConnectWorker(node.bootstrap, tmp_path / "worker.log", *files)

    def rows() -> int:
        with sqlite3.connect(database, timeout=30) as opened:
            count: int = opened.execute("select count(*) from rows").fetchone()[0]
            return count

    try:
        node.start()
        with running(worker):
            for _ in range(3):
                before = rows()
                until(lambda at=before: rows() > at + 1000, "more rows", 60)  # type: ignore[misc]
                node.kill()
                node.start()
            before = rows()
            until(lambda: rows() > before + 1000, "more rows", 60)
        numbers = sorted(numbers_of(node.bootstrap, "through"))
        assert numbers == list(range(1, len(numbers) + 1))
        with running(ConnectWorker(node.bootstrap, tmp_path / "last.log", out)):
            until(lambda: rows() == len(numbers), "every record is a row", 60)
        with sqlite3.connect(database) as opened:
            assert [each for (each,) in opened.execute("select number from rows order by number")] == numbers
    finally:
        node.stop()


@pytest.mark.long
def test_many_kills_of_everything(tmp_path: Path) -> None:
    """Ten kills of each: the source's worker and the node, under load."""
    node = BarnabasNode(tmp_path / "node")
    file = source(tmp_path, "many")
    workers = [ConnectWorker(node.bootstrap, tmp_path / f"worker{each}.log", file) for each in range(2)]
    chance = random.Random(7)
    try:
        node.start()
        with running(*workers):
            for _ in range(10):
                time.sleep(chance.uniform(0.5, 3))
                victim = chance.choice(workers)
                victim.kill()
                victim.start()
                time.sleep(chance.uniform(0.5, 3))
                node.kill()
                node.start()
            grows(node.bootstrap, "many", 1000)
        numbers = sorted(numbers_of(node.bootstrap, "many"))
        assert numbers == list(range(1, len(numbers) + 1))
    finally:
        node.stop()

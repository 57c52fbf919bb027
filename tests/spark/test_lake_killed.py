"""The lake pipeline under kill -9: of the driver, of Spark's Python workers, and of the broker (`make chaos-spark`).

Real processes are killed, as often as the issue asks, while records pour in. Then the table is held against the log and
against the table of an undisturbed run. `test_lake.py` has the short part: a driver that dies at chosen moments.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barnabas import Admin, Consumer
from barnabas.pipelines.framework.records import feed
from barnabas.pipelines.lake import answer, generator
from barnabas.pipelines.lake.table import Table
from tests.spark.drivers import QUICK_START, DriverProcess
from tests.support.servers import BarnabasNode

# How often the driver, a Python worker and the broker are killed; BARNABAS_KILLS=2,2,1 is for a short look.
DRIVER_KILLS, WORKER_KILLS, BROKER_KILLS = map(int, os.environ.get("BARNABAS_KILLS", "10,10,3").split(","))
TOPIC = "visits"
PATIENCE_S = 300.0


def held(table: Table) -> dict[answer.Place, tuple[int, Any]]:
    """The table's rows, read without Spark."""
    found: dict[answer.Place, tuple[int, Any]] = {}
    names = ["partition", "offset", "timestamp", "key", "value"]
    for each in table.files():
        rows = pq.ParquetFile(table.place / each.path).read(names)
        sent = rows["timestamp"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
        columns = [rows[name].to_pylist() for name in ("partition", "offset")]
        pairs = zip(rows["key"].to_pylist(), rows["value"].to_pylist(), strict=True)
        for partition, offset, at, pair in zip(*columns, sent.to_pylist(), pairs, strict=True):
            assert (partition, offset) not in found, f"{partition}-{offset} is in the table twice"
            found[partition, offset] = at, pair
    return found


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_everything_is_killed_and_the_table_is_that_of_an_undisturbed_run(tmp_path: Path) -> None:
    chance = random.Random(5)
    node = BarnabasNode(tmp_path / "node")
    node.start()
    lake: Lake | None = None
    try:
        with Admin(node.bootstrap) as admin:
            admin.create_topic(TOPIC, partitions=3)
        with _records_pour_in(node.bootstrap):
            lake = Lake(node.bootstrap, tmp_path / "killed")
            for _ in range(DRIVER_KILLS):
                lake.advances()
                time.sleep(chance.uniform(0, 1.5))
                lake.driver.kill()
                lake.start()
            lake.advances()
            for _ in range(WORKER_KILLS):
                os.kill(_some_worker(lake.driver, chance), signal.SIGKILL)
                lake.advances()
            for _ in range(BROKER_KILLS):
                node.kill()
                time.sleep(chance.uniform(0, 2))
                node.start()
                lake.advances()
        ends = _ends(node.bootstrap)
        lake.reaches(ends)
        lake.driver.kill()
        with Consumer(TOPIC, bootstrap=node.bootstrap, follow=False) as consumer:
            want = answer.rows(consumer)
        assert len(want) == sum(ends.values()) > 1000
        assert held(lake.table) == want
        undisturbed = Lake(node.bootstrap, tmp_path / "undisturbed", "--once")
        assert undisturbed.driver.wait() == 0, undisturbed.driver.tail()
        assert held(undisturbed.table) == want
    finally:
        if lake is not None:
            lake.driver.stop()
        node.stop()


class Lake:
    """`barnabas pipeline run lake` as a process, and its table."""

    def __init__(self, bootstrap: str, home: Path, *more: str) -> None:
        home.mkdir()
        self.table = Table(home / "lake" / "tables" / TOPIC)
        self._log = home / "driver.log"
        self._words = ["pipeline", "run", "lake", "--now", "--quiet", "--bootstrap", bootstrap, "--data", str(home)]
        self._words += ["--topic", f"{generator.TOPIC}={TOPIC}", "--set", "every=300ms", "--set", "merge=4", *more]
        self._words += ["--master", "local[2]", "--conf", "spark.driver.memory=1g", *QUICK_START]
        self.start()

    def start(self) -> None:
        self.driver = DriverProcess("barnabas.cli.main", *self._words, log=self._log)

    def taken_in(self) -> int:
        return sum(self.table.taken_in(TOPIC).values())

    def advances(self) -> None:
        """Until this life of it has brought something."""
        before = self.taken_in()
        self._until(lambda: self.taken_in() > before, "does not advance")

    def reaches(self, ends: dict[int, int]) -> None:
        self._until(lambda: self.table.taken_in(TOPIC) == ends, f"does not reach {ends}")

    def _until(self, reached: Any, otherwise: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not reached():
            assert self.driver.process.poll() is None, f"the driver ended\n{self.driver.tail()}"
            assert time.monotonic() < deadline, f"the table {otherwise}\n{self.driver.tail()}"
            time.sleep(0.05)


@contextmanager
def _records_pour_in(bootstrap: str) -> Iterator[None]:
    ended = threading.Event()
    records = generator.generate(9, int(time.time() * 1000), 200)
    work = (bootstrap, records, lambda: not ended.is_set(), lambda _: TOPIC)
    thread = threading.Thread(target=feed, args=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(60)


def _some_worker(driver: DriverProcess, chance: random.Random) -> int:
    deadline = time.monotonic() + PATIENCE_S
    while not (workers := driver.python_workers()):
        assert driver.process.poll() is None, f"the driver ended\n{driver.tail()}"
        assert time.monotonic() < deadline, "the driver has no Python worker"
        time.sleep(0.05)
    return chance.choice(workers)


def _ends(bootstrap: str) -> dict[int, int]:
    with Admin(bootstrap) as admin:
        return {each.index: each.end_offset or 0 for each in admin.describe_topic(TOPIC).partitions}

"""Exactly once under kill -9: the driver dies at every moment of a commit, workers die, drivers meet.

After each story the sink topic, read by a reader of committed records, has every row of the source once, in order
within its key, and no transaction is left open.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from barnabas import Admin, Producer
from barnabas.cli.common.cluster import Cluster
from barnabas.testing import RunningNode
from barnabas.wire.apis import LIST_TRANSACTIONS
from tests.spark import gate as moments
from tests.spark.drivers import BUSY_TIMES, COMMITS, QUICK_START, SLOW_START, TASKS, DriverProcess, _kill
from tests.spark.gate import Gate, gated_node
from tests.support.servers import BarnabasNode
from tests.transactions.readers import records

PARTITIONS = 2
MODULE = "tests.spark.copy_driver"


class Scene:
    """A node behind a gate, a source topic with rows, an empty sink topic, a checkpoint."""

    def __init__(self, node: RunningNode | BarnabasNode, gate: Gate, folder: Path) -> None:
        self.node, self.gate, self.folder = node, gate, folder
        self.rows = 0
        self.drivers: list[DriverProcess] = []
        with Admin(node.bootstrap) as admin:
            for name in ("source", "sink"):
                admin.create_topic(name, partitions=PARTITIONS)

    def produce(self, count: int) -> None:
        with Producer(self.node.bootstrap) as producer:
            for number in range(self.rows, self.rows + count):
                producer.send("source", key=f"k{number % 50}", value=f"{number:06d}", partition=number % PARTITIONS)
        self.rows += count

    def driver(self, *more: str) -> DriverProcess:
        log = self.folder / f"driver-{len(self.drivers)}.log"
        arguments = (self.gate.bootstrap, str(self.folder / "checkpoint"), "source", "sink", *QUICK_START, *more)
        self.drivers.append(DriverProcess(MODULE, *arguments, log=log))
        return self.drivers[-1]

    def run_to_the_end(self, *more: str) -> DriverProcess:
        driver = self.driver(*more)
        assert driver.wait() == 0, driver.tail()
        return driver

    def noted(self) -> int:
        """How many micro-batches Spark has noted as done."""
        notes = (self.folder / "checkpoint" / "commits").glob("*")
        return max((int(each.name) + 1 for each in notes if each.name.isdigit()), default=0)

    def goes_on(self, driver: DriverProcess, noted: int) -> bool:
        """Whether Spark comes to have noted so many, before the driver ends."""
        deadline = time.monotonic() + 400
        while self.noted() < noted and driver.process.poll() is None:
            assert time.monotonic() < deadline, f"no more than {self.noted()} micro-batches\n{driver.tail()}"
            time.sleep(0.05)
        return self.noted() >= noted

    def check(self) -> None:
        deadline = time.monotonic() + 10
        while len(found := records(self.node.bootstrap, "sink", partitions=PARTITIONS)) < self.rows:
            assert time.monotonic() < deadline, f"{len(found)} of {self.rows} rows"
            time.sleep(0.1)
        values = [value.decode() for _, value in sorted(found.items())]
        twice = {value: count for value, count in Counter(values).items() if count > 1}
        assert not twice, f"{len(twice)} rows twice, such as {sorted(twice)[:5]}"
        assert set(values) == {f"{number:06d}" for number in range(self.rows)}
        for key in range(50):
            mine = [value for value in values if int(value) % 50 == key]
            assert mine == sorted(mine), f"key k{key} is out of order"
        assert open_transactions_at(self.node.bootstrap) == []


def open_transactions_at(bootstrap: str) -> list[str]:
    """The transactional ids under which something is open. Endings that are under way are waited for."""
    deadline = time.monotonic() + 10
    while (found := open_transactions_now(bootstrap)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def open_transactions_now(bootstrap: str, part: str = "") -> list[str]:
    """Those whose id has this part."""
    found = []
    with Cluster(bootstrap) as cluster:
        for node_id in cluster.brokers:
            body = {"state_filters": ["Ongoing", "PrepareCommit", "PrepareAbort"], "producer_id_filters": []}
            found += cluster.ask(node_id, LIST_TRANSACTIONS, body).transaction_states
    return [each.transactional_id for each in found if part in each.transactional_id]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with gated_node({"transaction.two.phase.commit.enable": True}) as (node, gate):
        made = Scene(node, gate, tmp_path)
        try:
            yield made
        finally:
            gate.open_again()
            for driver in made.drivers:
                driver.stop()


MOMENTS: dict[str, tuple[str, Any]] = {
    "while a task writes": ("hold", moments.task_writes),
    "before the decision is written": ("hold", moments.decision_is_written),
    "before the decision is committed": ("hold", moments.decision_is_committed),
    "after it is, before the driver hears of it": ("mute", moments.decision_is_committed),
    "before the first task is committed": ("hold", moments.task_is_committed),
    "between two tasks": ("mute", moments.task_is_committed),
    "before it is noted as done": ("hold", moments.done_is_noted),
    "before the driver tells Spark": ("mute", moments.done_is_noted),
}


@pytest.mark.timeout(600)
@pytest.mark.long
def test_the_driver_dies_between_decision_and_completion(scene: Scene, spark: Any) -> None:
    """The moment that matters most; the driver that follows is the tests' own Spark."""
    scene.produce(600)
    scene.gate.hold(moments.nth(2 * PARTITIONS, moments.task_is_committed))  # in the second micro-batch, half-way
    victim = scene.driver()
    scene.gate.await_reached(victim)
    victim.kill()
    scene.gate.open_again()
    writer = (
        spark.readStream.format("barnabas")
        .option("kafka.bootstrap.servers", scene.gate.bootstrap)
        .option("subscribe", "source")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 200)
        .load()
        .select("key", "value")
        .writeStream.format("barnabas")
        .option("kafka.bootstrap.servers", scene.gate.bootstrap)
        .option("topic", "sink")
        .option("checkpointLocation", str(scene.folder / "checkpoint"))
        .trigger(availableNow=True)
    )
    for _ in range(BUSY_TIMES):
        try:
            assert writer.start().awaitTermination(300)
            break
        except StreamingQueryException as error:
            if SLOW_START not in str(error):
                raise
    scene.check()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_driver_dies_at_every_moment(scene: Scene) -> None:
    """One query, killed once at each moment and started again each time."""
    for number, (kind, moment) in enumerate(MOMENTS.values()):
        scene.produce(600)
        getattr(scene.gate, kind)(moments.nth(1 + number % 2, moment))
        victim = scene.driver()
        scene.gate.await_reached(victim)
        victim.kill()
        scene.gate.open_again()
    scene.produce(100)
    scene.run_to_the_end()
    scene.check()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_driver_dies_ten_times_at_random(scene: Scene) -> None:
    """At some moment after its first micro-batch: a time since its start may be over before a row is written."""
    dice = random.Random(7)
    for _ in range(10):
        scene.produce(1200)
        noted = scene.noted()
        victim = scene.driver("--per-batch", "100")
        assert scene.goes_on(victim, noted + 1), victim.tail()
        time.sleep(dice.uniform(0, 3))
        victim.kill()
    scene.run_to_the_end("--per-batch", "300")
    scene.check()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_python_workers_die_ten_times(scene: Scene) -> None:
    """Those that write and the one that commits. Spark runs the tasks again; where it does not (a task that failed four
    times, a commit) the query ends, and is started again. Those that only plan would be hit before a row is written."""
    dice = random.Random(11)
    scene.produce(12_000)
    kills, outlived = 0, 0
    while kills < 10:
        driver = scene.driver("--per-batch", "300")
        driver.await_log("started")
        while driver.process.poll() is None and kills < 10:
            if workers := driver.python_workers(TASKS, COMMITS):
                noted = scene.noted()
                _kill(dice.choice(workers))
                kills += 1
                outlived += scene.goes_on(driver, noted + 2)  # one may have been complete but for its note
            time.sleep(dice.uniform(0, 1.0))
        assert driver.wait() in (0, 3), driver.tail()
        if driver.process.returncode == 0 and kills < 10:
            scene.produce(4000)
    assert outlived, "no driver went on after a kill: nothing was proved"
    scene.run_to_the_end()
    scene.check()


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("moment", ["before the decision is written", "before the decision is committed"])
def test_a_driver_that_comes_back_is_fenced(scene: Scene, moment: str) -> None:
    """The first driver is only held; a second one runs the query to its end; then the first goes on. It must not ask
    again meanwhile: that request would not be held, and on a busy machine the second takes minutes to start."""
    scene.produce(600)
    scene.gate.hold(MOMENTS[moment][1])
    zombie = scene.driver("--patience", "900")
    scene.gate.await_reached(zombie)
    scene.run_to_the_end()
    scene.gate.open_again()
    assert zombie.wait() == 3, "it must not believe that it is the one"
    assert "has been taken over by a newer driver" in zombie.tail(), zombie.tail()
    scene.check()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_two_drivers_at_once(scene: Scene) -> None:
    """The first does not hear of its decision until a second one is there; then both go on, on one checkpoint. Spark
    ends one of them, or the sink does. Whichever it is, each row is there once."""
    scene.produce(600)
    scene.gate.hold(MOMENTS["before the decision is written"][1])
    first = scene.driver("--patience", "900")
    scene.gate.await_reached(first)
    second = scene.driver()
    second.await_log("started")
    scene.gate.open_again()
    codes = sorted((first.wait(), second.wait()))
    assert codes in ([0, 0], [0, 3], [3, 3]), f"{first.tail()}\n{second.tail()}"
    scene.run_to_the_end()
    scene.check()


@pytest.fixture
def process_scene(tmp_path: Path) -> Iterator[tuple[Scene, BarnabasNode]]:
    """The same with a node in a process of its own, which can be killed."""
    gate = Gate()
    settings = {"advertised.listeners": f"PLAINTEXT://{gate.bootstrap}", "transaction.two.phase.commit.enable": "true"}
    node = BarnabasNode(tmp_path / "node", settings)
    gate.target = ("127.0.0.1", node.port)
    node.start()
    made = None
    try:
        made = Scene(node, gate, tmp_path)
        yield made, node
    finally:
        gate.close()
        for driver in made.drivers if made else ():
            driver.stop()
        node.stop()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_node_dies_three_times(process_scene: tuple[Scene, BarnabasNode]) -> None:
    """In the middle of a commit, each time at another moment; then it is restarted in peace. The clients' patience
    hides all of it: the driver does not fail once."""
    scene, node = process_scene
    scene.produce(3000)
    driver = scene.driver("--per-batch", "200")
    for end, moment in (
        (node.kill, moments.decision_is_written),
        (node.kill, moments.decision_is_committed),
        (node.kill, moments.task_is_committed),
        (node.stop, moments.task_writes),
    ):
        scene.gate.hold(moment)
        scene.gate.await_reached(driver)
        end()
        node.start()
        scene.gate.open_again()
        time.sleep(1)
    assert driver.wait() == 0, driver.tail()
    scene.check()

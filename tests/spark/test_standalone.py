"""The exactly-once sink on a real Spark cluster: tasks on two executors, speculation, a worker killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark import gate as moments
from tests.spark.drivers import DriverProcess
from tests.spark.gate import gated_node
from tests.spark.standalone import Standalone, standalone_cluster
from tests.spark.test_sink_killed import Scene

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

ON_THE_LOOPBACK = ("spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", "spark.executor.memory=512m")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    with standalone_cluster(folder) as running:
        yield running


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with gated_node({"transaction.two.phase.commit.enable": True}) as (node, gate):
        made = Scene(node, gate, tmp_path)
        try:
            yield made
        finally:
            for driver in made.drivers:
                driver.stop()


def drive(scene: Scene, cluster: Standalone, *more: str, conf: tuple[str, ...] = ()) -> DriverProcess:
    settings = [part for pair in (*ON_THE_LOOPBACK, *conf) for part in ("--conf", pair)]
    return scene.driver("--master", cluster.url, *settings, *more)


def test_a_worker_dies(scene: Scene, cluster: Standalone) -> None:
    """While a task of the second micro-batch writes. Its executor goes with it, with whatever its tasks had open; the
    tasks run again on the other."""
    scene.produce(2000)
    scene.gate.hold(moments.nth(4, moments.task_writes))
    driver = drive(scene, cluster, "--per-batch", "400")
    scene.gate.await_reached(driver)
    cluster.kill_worker(0)
    scene.gate.open_again()
    assert driver.wait() == 0, driver.tail()
    scene.check()


def test_speculative_attempts(scene: Scene, cluster: Standalone) -> None:
    """One attempt hears nothing of the rows it has written; Spark runs its task again elsewhere,
    and the first attempt loses. What it wrote lies in an open transaction, which the driver aborts."""
    scene.produce(600)
    eager = (
        "spark.speculation=true",
        "spark.speculation.interval=100ms",
        "spark.speculation.multiplier=1.1",
        "spark.speculation.quantile=0.1",
        "spark.speculation.minTaskRuntime=300ms",
    )
    scene.gate.mute(moments.task_writes)
    driver = drive(scene, cluster, "--per-batch", "300", conf=eager)
    scene.gate.await_reached(driver)
    assert driver.wait(300) == 0, driver.tail()
    scene.check()
    assert aborted(scene) > 0, "no attempt lost: nothing was proved"


def aborted(scene: Scene) -> int:
    """Records that only a reader of everything sees."""
    from tests.transactions.readers import records

    committed = records(scene.node.bootstrap, "sink", partitions=2)
    everything = records(scene.node.bootstrap, "sink", level="read_uncommitted", partitions=2)
    return len(everything) - len(committed)

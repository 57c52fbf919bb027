"""Activity in Real-Time Mode on a standalone cluster, while an executor and a whole worker are killed: nothing is
missing, and a pair may be told again.

A query in this mode keeps a task on every partition and needs all of them at the same time, so one lost executor ends
it: it is started again from its checkpoint, on what is left.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.spark.standalone import Standalone, standalone_cluster
from tests.spark.test_activity_killed import Scene

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

# Three topics of three partitions and the one of the shuffle are ten tasks, and as many again must find room beside
# them. Each worker says that it has so many cores, so that one is enough when the other is gone.
CORES = 20
CONF = ("spark.executor.memory=900m", "spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1")
WORDS = tuple(word for setting in CONF for word in ("--conf", setting))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    with standalone_cluster(folder, cores=CORES, memory="1g") as running:
        yield running


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with closing(Scene(tmp_path)) as made:
        yield made


def test_an_executor_and_a_worker_die(scene: Scene, cluster: Standalone) -> None:
    driver = scene.driver(*WORDS, master=cluster.url, live=True)
    scene.await_more(driver, 0)
    for worker in (0, 1):
        kill_executor(cluster, worker)
        scene.await_more(driver, scene.results())
    cluster.kill_worker(0)
    scene.await_more(driver, scene.results())
    driver.process.send_signal(signal.SIGTERM)
    assert driver.wait(120) == 0, driver.tail()
    scene.finish_live(*WORDS, master=cluster.url)


def kill_executor(cluster: Standalone, worker: int) -> None:
    """kill -9 of what runs a worker's tasks; the worker itself stays, and starts another one."""
    killed = [pid for pid in children_of(cluster.workers[worker].pid) if is_executor(pid)]
    assert killed, "the worker has no executor"
    for pid in killed:
        os.kill(pid, signal.SIGKILL)


def children_of(pid: int) -> list[int]:
    return [int(each) for file in Path(f"/proc/{pid}/task").glob("*/children") for each in file.read_text().split()]


def is_executor(pid: int) -> bool:
    return b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()

"""Activity while things are killed: the results are those of an undisturbed run, each once with --exactly-once, and at
least once in Real-Time Mode.

A stream flows all the time; what was written is kept, and in the end plain Python says what must have come out. A
reader of committed records has to find exactly that in the topic, and the table has to have the same rows.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas import Admin
from barnabas.pipelines.activity import PIPELINE, RECOMMENDATIONS, answer, table
from barnabas.pipelines.activity.generator import Activity
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.activity.town import Town
from barnabas.pipelines.common.disorder import Disorder
from barnabas.pipelines.framework import Record, records, topics
from barnabas.pipelines.framework.running import Wanted, opened
from barnabas.testing import RunningNode
from tests.spark.drivers import QUICK_START, DriverProcess, is_at_rest
from tests.spark.standalone import standalone_cluster
from tests.support.servers import BarnabasNode

# Late ones are at most twenty seconds late: a disturbed run is longer, but the same events count.
DISORDER = Disorder(network_ms=20, late=0.03, late_ms=20_000, too_late=0, too_late_ms=0, twice=0.02)
RATE = 60.0
TWO_PHASES = {"transaction.two.phase.commit.enable": "true"}
SHOWN = ("member", "because", "interest", "job", "title", "company", "city", "score")


class Flow:
    """A stream of activity into a node, all of which is remembered."""

    def __init__(self, bootstrap: str, rename: Callable[[str], str] = str, seed: int = 11) -> None:
        self.bootstrap, self.rename = bootstrap, rename
        self.written: list[Record] = []
        activity = Activity(seed, Town(seed, members=300, companies=60), job_share=0.03, disorder=DISORDER)
        now_ms = int(time.time() * 1000)
        opening = list(activity.opening_jobs(now_ms - 60_000, now_ms, 60))
        records.write(bootstrap, opening, rename)
        self.written += opening
        self._live = activity.live(now_ms, RATE)
        self._goes_on = threading.Event()
        self._goes_on.set()
        self._thread = threading.Thread(target=self._flow, daemon=True)
        self._thread.start()

    def _flow(self) -> None:
        records.feed(self.bootstrap, self._live, self._goes_on.is_set, self.rename, self.written.append)

    def stop(self) -> None:
        """Returns when the node has everything."""
        self._goes_on.clear()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def want(self) -> dict[tuple[str, str], dict[str, Any]]:
        return answer.recommendations(self.written, Rules())


def told(bootstrap: str, topic: str) -> list[dict[str, Any]]:
    from barnabas import Consumer

    with Consumer(topic, bootstrap=bootstrap, follow=False, isolation_level="read_committed") as consumer:
        return [json.loads(message.value) for message in consumer]


def check(flow: Flow, found: list[dict[str, Any]], once: bool = True) -> None:
    want = flow.want()
    counted = Counter((each["interest"], each["job"]) for each in found)
    twice = [pair for pair, count in counted.items() if count > 1 and once]
    assert not twice, f"{len(twice)} of {len(want)} recommendations twice, such as {twice[:3]}"
    missing, extra = want.keys() - counted.keys(), counted.keys() - want.keys()
    assert not missing, f"{len(missing)} of {len(want)} recommendations are missing, such as {sorted(missing)[:3]}"
    assert not extra, f"{len(extra)} recommendations that nobody asked for, such as {sorted(extra)[:3]}"
    for each in found:
        assert {name: each[name] for name in SHOWN} == want[each["interest"], each["job"]]
    assert len(want) > 100


def in_table(home: Path) -> Counter[tuple[str, str]]:
    import pyarrow.parquet

    files = sorted((home / "activity" / "tables" / table.NAME).glob("hour=*/*.parquet"))
    rows = [row for file in files for row in pyarrow.parquet.read_table(file).to_pylist()]
    return Counter((row["interest"], row["job"]) for row in rows)


def check_table(flow: Flow, home: Path) -> None:
    pairs = in_table(home)
    assert set(pairs) == flow.want().keys() and max(pairs.values()) == 1


class Scene:
    """A node in a process of its own, a stream into it, and drivers: `barnabas pipeline run activity`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "pipelines"
        self.node = BarnabasNode(folder / "node", TWO_PHASES)
        self.node.start()
        topics.prepare(self.node.bootstrap, PIPELINE, str, make_inputs=True, now=True)
        self.flow = Flow(self.node.bootstrap)
        self.drivers: list[DriverProcess] = []

    def driver(self, *more: str, master: str = "local[2]", live: bool = False) -> DriverProcess:
        words: tuple[str, ...] = ("pipeline", "run", "activity", "-b", self.node.bootstrap, "--data", str(self.home))
        words += ("--master", master, "--conf", "spark.driver.memory=900m", *QUICK_START, *more)
        words += ("--set", "batch=10s") if live else ("--exactly-once",)
        log = self.folder / f"driver-{len(self.drivers)}.log"
        self.drivers.append(DriverProcess("barnabas.cli.main", *words, log=log))
        return self.drivers[-1]

    def results(self) -> int:
        with Admin(self.node.bootstrap) as admin:
            return sum(each.end_offset or 0 for each in admin.describe_topic(RECOMMENDATIONS).partitions)

    def await_more(self, driver: DriverProcess, than: int, timeout_s: float = 600) -> None:
        deadline = time.monotonic() + timeout_s
        while self.results() <= than:
            assert driver.process.poll() is None, f"the driver ended\n{driver.tail()}\n{self.spark_log()}"
            assert time.monotonic() < deadline, f"no more than {than}\n{driver.tail()}\n{self.spark_log()}"
            time.sleep(0.2)

    def spark_log(self) -> str:
        path = self.home / "activity" / "spark.log"
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""

    def finish(self, *words: str, **more: Any) -> None:
        """No more events; one undisturbed run reads to the end, and what came out is looked at."""
        self.flow.stop()
        last = self.driver("--once", *words, **more)
        assert last.wait(900) == 0, f"{last.tail()}\n{self.spark_log()}"
        check(self.flow, told(self.node.bootstrap, RECOMMENDATIONS))
        check_table(self.flow, self.home)

    def finish_live(self, *words: str, **more: Any) -> None:
        """The same in Real-Time Mode, which has no end of its own: until the topic and the table have everything."""
        self.flow.stop()
        want = self.flow.want().keys()
        last = self.driver(*words, live=True, **more)
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            assert last.process.poll() is None, f"the driver ended\n{last.tail()}\n{self.spark_log()}"
            pairs = {(each["interest"], each["job"]) for each in told(self.node.bootstrap, RECOMMENDATIONS)}
            if want <= pairs and want <= in_table(self.home).keys():
                break
            time.sleep(1)
        last.process.send_signal(signal.SIGTERM)
        assert last.wait(120) == 0, last.tail()
        assert "Exception" not in last.tail(), "a stack trace reached the terminal"
        check(self.flow, told(self.node.bootstrap, RECOMMENDATIONS), once=False)
        check_table(self.flow, self.home)

    def close(self) -> None:
        for driver in self.drivers:
            driver.stop()
        self.flow._goes_on.clear()
        self.node.stop()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with closing(Scene(tmp_path)) as made:
        yield made


def python_processes(driver: DriverProcess) -> list[int]:
    """Workers of tasks, and the processes that plan reads and commit writes: all Python below Spark's Java, but for
    those that only made the sources known and have nothing to do any more."""
    found = []
    for pid in driver.descendants()[1:]:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            continue
        if "python" in command.split("\0")[0] and "pyspark" in command and not is_at_rest(command):
            found.append(pid)
    return found


def kill_one(driver: DriverProcess, chance: random.Random) -> None:
    deadline = time.monotonic() + 300
    while not (found := python_processes(driver)):
        assert driver.process.poll() is None, f"the driver ended\n{driver.tail()}"
        assert time.monotonic() < deadline, f"the driver has no Python worker\n{driver.tail()}"
        time.sleep(0.05)
    try:
        os.kill(chance.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        kill_one(driver, chance)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_killed_python_workers_are_only_a_pause(spark: Any, node: RunningNode, tmp_path: Path) -> None:
    """The short slice: two kills, on the tests' own Spark."""
    here: Any = DriverProcess.__new__(DriverProcess)
    here.process = SimpleNamespace(pid=os.getpid(), poll=lambda: None)
    here.tail = lambda: ""
    names = {each.name: f"{each.name}-killed" for each in (*PIPELINE.reads, *PIPELINE.writes)}
    wanted = Wanted(PIPELINE, node.bootstrap, tmp_path, make_inputs=True, topics=names, exactly_once=True)
    with opened(wanted) as run:
        flow = Flow(node.bootstrap, wanted.topic)
        run.start_now()
        chance, kills, next_kill = random.Random(3), 0, time.monotonic() + 5
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            run.check()
            if kills < 2 and time.monotonic() > next_kill:
                kill_one(here, chance)
                kills, next_kill = kills + 1, time.monotonic() + 4
                if kills == 2:
                    flow.stop()
            if kills == 2 and len(told(node.bootstrap, names[RECOMMENDATIONS])) >= len(flow.want()):
                break
            time.sleep(0.2)
    check(flow, told(node.bootstrap, names[RECOMMENDATIONS]))


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_the_driver_is_killed_ten_times(scene: Scene) -> None:
    chance = random.Random(5)
    for number in range(10):
        before = scene.results()
        victim = scene.driver()
        scene.await_more(victim, before)
        time.sleep(chance.uniform(0, 3))
        if number % 3 == 2:  # only Java, and Python has to notice
            os.kill(next(pid for pid in victim.descendants() if _is_java(pid)), signal.SIGKILL)
            time.sleep(0.5)
        victim.kill()
    scene.finish()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_python_workers_are_killed_ten_times(scene: Scene) -> None:
    chance = random.Random(6)
    driver = scene.driver()
    for _ in range(10):
        scene.await_more(driver, scene.results())
        kill_one(driver, chance)
        time.sleep(chance.uniform(0.2, 2))
    scene.await_more(driver, scene.results())
    driver.process.send_signal(signal.SIGTERM)
    assert driver.wait(120) == 0, driver.tail()
    scene.finish()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_the_node_is_killed_three_times(scene: Scene) -> None:
    chance = random.Random(7)
    driver = scene.driver()
    for _ in range(3):
        scene.await_more(driver, scene.results())
        time.sleep(chance.uniform(0, 2))
        scene.node.kill()
        time.sleep(chance.uniform(0.5, 4))
        scene.node.start()
    scene.await_more(driver, scene.results())
    driver.process.send_signal(signal.SIGTERM)
    assert driver.wait(120) == 0, driver.tail()
    scene.finish()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_in_real_time_mode_a_killed_driver_loses_nothing(scene: Scene) -> None:
    chance = random.Random(8)
    for _ in range(3):
        victim = scene.driver(live=True)
        scene.await_more(victim, scene.results())
        time.sleep(chance.uniform(0, 15))  # within a batch, at its end, or after it
        victim.kill()
    scene.finish_live()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_in_real_time_mode_a_killed_node_loses_nothing(scene: Scene) -> None:
    driver = scene.driver(live=True)
    for _ in range(2):
        scene.await_more(driver, scene.results())
        scene.node.kill()
        time.sleep(1)
        scene.node.start()
    scene.await_more(driver, scene.results())
    driver.process.send_signal(signal.SIGTERM)
    assert driver.wait(120) == 0, driver.tail()
    scene.finish_live()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_a_worker_of_a_standalone_cluster_is_killed(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    shape = ("--conf", "spark.executor.memory=600m", "--conf", "spark.sql.shuffle.partitions=2")
    with standalone_cluster(folder) as cluster:
        driver = scene.driver(*shape, master=cluster.url)
        scene.await_more(driver, 0)
        cluster.kill_worker(0)
        scene.await_more(driver, scene.results())
        cluster.start_worker(2)
        scene.await_more(driver, scene.results())
        driver.process.send_signal(signal.SIGTERM)
        assert driver.wait(120) == 0, driver.tail()
        scene.finish(*shape, master=cluster.url)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_folder_of_declarative_pipelines_runs_with_our_source_and_sink(tmp_path: Path) -> None:
    from barnabas import Producer

    node = BarnabasNode(tmp_path / "node", TWO_PHASES)
    node.start()
    try:
        folder = tmp_path / "shop"
        folder.mkdir()
        page = Path(__file__).parents[2] / "docs" / "pipelines" / "declarative.md"
        (folder / "orders.py").write_text(page.read_text().split("```python\n")[1].split("```")[0])
        with Admin(node.bootstrap) as admin:
            for name in ("orders", "orders.large"):
                admin.create_topic(name, partitions=2)
        for portion in range(2):
            with Producer(node.bootstrap, value_serializer="json") as producer:
                for number in range(100):
                    producer.send("orders", {"item": f"i{number % 5}", "price": number * 2 + portion})
            words = ["pipeline", "run", str(folder), "-b", node.bootstrap, "--data", str(tmp_path / "home")]
            words = [sys.executable, "-m", "barnabas.cli.main", *words]
            done = subprocess.run(words, capture_output=True, text=True, timeout=400)
            assert done.returncode == 0, done.stdout + done.stderr
            assert "Run is COMPLETED." in done.stdout
        large = [(each["item"], each["price"]) for each in told(node.bootstrap, "orders.large")]
        assert len(large) == len(set(large)) == 99
        assert sorted(each.name for each in folder.iterdir()) == ["orders.py"]
    finally:
        node.stop()


def _is_java(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == "java"
    except OSError:
        return False

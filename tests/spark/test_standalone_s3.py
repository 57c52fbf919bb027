"""Progress and state in S3 (s3proxy), a real Spark standalone cluster: a worker is killed, the driver is killed, and
another driver in another folder goes on. What comes out is what plain Python says, each once.

The workers get no credentials: Spark hands them those of the driver. Nobody prints them.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.pipelines.activity import RECOMMENDATIONS
from barnabas.pipelines.errors import PipelineError
from tests.spark import test_activity_killed
from tests.spark.drivers import DriverProcess
from tests.spark.standalone import Standalone, standalone_cluster
from tests.spark.test_activity_killed import Scene, check, check_table, told
from tests.support.s3 import KEY, SECRET, S3Bucket, S3Process

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

URL = "s3a://state/pipelines"
ON_THE_LOOPBACK = ("spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1")


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Bucket]:
    try:
        from barnabas.pipelines.s3a import s3a_jars

        s3a_jars({})
    except PipelineError as error:
        pytest.skip(str(error))
    server = S3Process(tmp_path_factory.mktemp("s3"))
    server.start()
    try:
        yield server.bucket("state")
    finally:
        server.stop()


class SharedScene(Scene):
    """A scene whose drivers keep their progress in S3, and run on a cluster."""

    cluster: Standalone
    bucket: S3Bucket
    url: str

    def on_cluster(self, *more: str, live: bool = False) -> DriverProcess:
        words = [part for setting in ON_THE_LOOPBACK for part in ("--conf", setting)]
        words += ["--conf", "spark.executor.memory=700m", "--checkpoints", self.url, *more]
        return self.driver(*words, master=self.cluster.url, live=live)

    def names(self) -> list[str]:
        prefix = f"pipelines/{self.folder.name}/activity/"
        return [name.removeprefix(prefix) for name in self.bucket.names(prefix)]

    def batches(self) -> int:
        """How many are done, by what lies in S3."""
        done = [name.rpartition("/")[2] for name in self.names() if name.startswith("recommend/commits/")]
        return max((int(number) + 1 for number in done if number.isdigit()), default=0)

    def await_batches(self, driver: DriverProcess, more: int) -> None:
        """So many more, each with results."""
        wanted, deadline = self.batches() + more, time.monotonic() + 600
        while self.batches() < wanted:
            assert driver.process.poll() is None, f"the driver ended\n{driver.tail()}\n{self.spark_log()}"
            assert time.monotonic() < deadline, f"no {more} batches more\n{driver.tail()}\n{self.spark_log()}"
            time.sleep(0.2)

    def end(self, driver: DriverProcess) -> None:
        driver.process.send_signal(signal.SIGTERM)
        assert driver.wait(120) == 0, driver.tail()

    def finish_shared(self) -> None:
        """As `finish`."""
        self.flow.stop()
        last = self.on_cluster("--once")
        assert last.wait(900) == 0, f"{last.tail()}\n{self.spark_log()}"
        check(self.flow, told(self.node.bootstrap, RECOMMENDATIONS))
        check_table(self.flow, self.home)


def give_credentials(monkeypatch: pytest.MonkeyPatch, bucket: S3Bucket) -> None:
    """To the drivers: the workers have started already."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.options["endpoint"])


@pytest.fixture
def scene(tmp_path: Path, bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[SharedScene]:
    (tmp_path / "cluster").mkdir()
    with standalone_cluster(tmp_path / "cluster", memory="900m") as cluster:
        give_credentials(monkeypatch, bucket)
        monkeypatch.setattr(test_activity_killed, "RATE", 10.0)  # what waits while drivers start is one batch
        made = SharedScene(tmp_path)
        made.cluster, made.bucket, made.url = cluster, bucket, f"{URL}/{tmp_path.name}"
        try:
            yield made
        finally:
            made.close()


def test_a_worker_and_a_driver_are_lost(scene: SharedScene, tmp_path: Path) -> None:
    driver = scene.on_cluster()
    scene.await_batches(driver, 2)
    scene.cluster.kill_worker(0)  # its part of the state has to come out of S3 now
    scene.await_batches(driver, 2)
    scene.cluster.start_worker(2)
    scene.await_batches(driver, 1)
    assert SECRET not in commands(driver)
    driver.kill()

    done = scene.batches()
    scene.home = tmp_path / "another machine"  # nothing of the first folder
    driver = scene.on_cluster()
    scene.await_batches(driver, 1)
    assert scene.batches() >= done + 1, "it began anew"
    scene.end(driver)
    scene.finish_shared()

    names = scene.names()
    assert any("recommend/state/" in name for name in names) and any("dead-letters/commits/" in name for name in names)
    for home in (tmp_path / "pipelines", scene.home):
        checkpoints = home / "activity" / "checkpoints"
        assert not checkpoints.exists() or {each.name for each in checkpoints.iterdir()} == {"table"}
        assert not (checkpoints / "table" / "state").exists()
    assert SECRET not in all_logs(tmp_path)


def all_logs(folder: Path) -> str:
    """Of drivers, workers, executors and Spark."""
    logs = [*folder.rglob("*.log"), *folder.rglob("stderr"), *folder.rglob("stdout")]
    assert len(logs) > 6
    return "".join(each.read_text(errors="replace") for each in logs)


def commands(driver: DriverProcess) -> str:
    """What anybody on the machine sees of its processes; those of the workers have it from Spark, or not at all."""
    told = [Path(f"/proc/{pid}/cmdline").read_text() for pid in driver.descendants() if Path(f"/proc/{pid}").exists()]
    assert any("java" in each for each in told)
    return "".join(told)

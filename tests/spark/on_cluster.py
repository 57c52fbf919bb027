"""A pipeline as `barnabas pipeline run NAME --master spark://...` on a real standalone cluster, and what it left.

Topics are made before, with records of a fixed day long ago, so that each half has one right answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from barnabas import Admin, Consumer
from barnabas.client.consumer.message import Message
from barnabas.pipelines.framework import Pipeline, Record, records
from tests.spark.drivers import BUSY_TIMES, QUICK_START, SLOW_START, DriverProcess
from tests.spark.standalone import Standalone

TWO_PHASES = {"transaction.two.phase.commit.enable": True}
SHAPE: dict[str, int | str] = {"workers": 2, "cores": 1, "memory": "1000m"}
ON_THE_LOOPBACK = ("spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", "spark.executor.memory=800m")


class OnCluster:
    """A node, a cluster, a folder; `run` is one command to its end."""

    def __init__(self, bootstrap: str, cluster: Standalone, folder: Path) -> None:
        self.bootstrap, self.cluster, self.folder = bootstrap, cluster, folder
        self.home = folder / "pipelines"
        self.drivers: list[DriverProcess] = []

    def write(self, pipeline: Pipeline, made: Iterable[Record], partitions: int = 2) -> list[Record]:
        with Admin(self.bootstrap) as admin:
            for topic in (*pipeline.reads, *pipeline.writes):
                kept: dict[str, object] = {"retention.ms": -1, **topic.configs}
                admin.create_topic(topic.name, partitions=min(partitions, topic.partitions), configs=kept)
        written = list(made)
        records.write(self.bootstrap, written)
        return written

    def driver(self, pipeline: str, *words: str, home: Path | None = None) -> DriverProcess:
        command = ["pipeline", "run", pipeline, "-b", self.bootstrap, "--master", self.cluster.url, *QUICK_START]
        for setting in (*ON_THE_LOOPBACK, "spark.driver.memory=900m"):
            command += ["--conf", setting]
        log = self.folder / f"driver-{len(self.drivers)}.log"
        made = DriverProcess("barnabas.cli.main", *command, "--data", str(home or self.home), *words, log=log)
        self.drivers.append(made)
        return made

    def run(self, pipeline: str, *words: str) -> str:
        """What it said. That Spark ran it on both workers is seen in their folders."""
        before = self.executors()
        for _ in range(BUSY_TIMES):
            driver = self.driver(pipeline, *words)
            code, said = driver.wait(), driver.log.read_text()
            if code == 0 or SLOW_START not in said:
                break
        assert code == 0, f"{driver.tail()}\n{self.spark_log(pipeline)}"
        assert len(self.executors()) >= len(before) + 2, "it did not run on two workers"
        assert "\tat " not in said and " WARN " not in said, said
        return said

    def executors(self) -> set[Path]:
        return {each for each in self.cluster.folder.glob("work-*/app-*/*") if each.is_dir()}

    def spark_log(self, pipeline: str) -> str:
        path = self.home / pipeline / "spark.log"
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""

    def messages(self, topic: str) -> list[Message]:
        with Consumer(topic, bootstrap=self.bootstrap, follow=False, isolation_level="read_committed") as consumer:
            return list(consumer)

    def values(self, topic: str) -> list[dict[str, Any]]:
        return [json.loads(message.value) for message in self.messages(topic)]

    def newest(self, topic: str) -> dict[bytes, dict[str, Any]]:
        return {message.key: json.loads(message.value) for message in self.messages(topic)}

    def close(self) -> None:
        for driver in self.drivers:
            driver.stop()

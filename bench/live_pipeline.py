"""A pipeline that reads now, on topics of its own: a process produces its events, this one takes the time.

The pipeline runs as a person runs it, in a process of its own. Everything shares the machine's cores.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from barnabas.pipelines.framework import Pipeline, topics

from .clients import delete_topic
from .servers import Server

WAITED_MS = 5_000.0  # for what happened and is not answered when a stretch ends
START_S = 300.0
PAUSE_S = 0.005

Load = Callable[[str, dict[str, str], Any], None]  # bootstrap, topics, a shared number: events a second
Happened = Callable[[dict[str, Any]], float | None]  # of a result: when its event happened, in ms; None: not to count


class LivePipeline:
    """The pipeline, and the two that produce and consume around it."""

    def __init__(
        self, server: Server, pipeline: Pipeline, sink: str, load: Load, happened: Happened, exactly_once: bool = False
    ) -> None:
        self.bootstrap, self.count, self._exactly_once = server.bootstrap, 0, exactly_once
        self._pipeline, self._happened = pipeline, happened
        self.conf: list[str] = []  # further settings of Spark, for whoever tries one
        mark = uuid.uuid4().hex[:8]
        self.topics = {each.name: f"{each.name}-{mark}" for each in (*pipeline.reads, *pipeline.writes)}
        self.home = Path(tempfile.mkdtemp(prefix="barnabas-bench-"))
        topics.prepare(
            self.bootstrap, pipeline, lambda name: self.topics.get(name, f"{name}-{mark}"), make_inputs=True, now=True
        )
        self.dead = [f"{self.topics[each.name]}.dead-letter" for each in pipeline.reads if each.streamed]
        self._sink = self.topics[sink]
        spawn = multiprocessing.get_context("spawn")
        self._rate = spawn.Value("d", 1_000.0)
        self._producer = spawn.Process(target=load, args=(self.bootstrap, self.topics, self._rate), daemon=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = 0.0

    def __enter__(self) -> LivePipeline:
        self._consumer = _consumer(self.bootstrap, self._sink)
        self._producer.start()
        words = [sys.executable, "-m", "barnabas.cli.main", "pipeline", "run", self._pipeline.name, "--quiet"]
        words += ["-b", self.bootstrap, "--data", str(self.home)]
        for usual, ours in self.topics.items():
            words += ["--topic", f"{usual}={ours}"]
        words += ["--exactly-once"] if self._exactly_once else []
        words += [word for each in self.conf for word in ("--conf", each)]
        self._begun = time.time()
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.terminate()
        self._producer.join(10)
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._consumer.close()
        for name in (*self.topics.values(), *self.dead):
            with suppress(Exception):
                delete_topic(self.bootstrap, name)
        shutil.rmtree(self.home, ignore_errors=True)

    def await_first(self) -> float:
        """Seconds from the start of the command to the first result in a consumer's hands."""
        deadline = time.time() + START_S
        while time.time() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError(f"the pipeline left with {self._process.returncode}")
            if self._take(0.1):
                return time.time() - self._begun
        raise TimeoutError(f"no result in {START_S:.0f} s")

    def change(self, rate: float) -> None:
        self._rate.value = rate

    def spark_s(self) -> float:
        return float(json.loads((self.home / self._pipeline.name / "now.json").read_text())["spark_s"])

    def delays(self, seconds: float) -> list[float]:
        """Milliseconds from event to result, sorted, for the events of this stretch. What happened in it and has not
        been answered when it ends is waited for."""
        begin_ms = time.time() * 1000
        end_ms = begin_ms + seconds * 1000
        found = []
        while time.time() * 1000 < end_ms + WAITED_MS:
            for happened_ms, arrived_ms in self._take(0.05):
                if begin_ms <= happened_ms < end_ms:
                    found.append(arrived_ms - happened_ms)
            if found and time.time() * 1000 > end_ms + 2 * max(found):
                break
        return sorted(found)

    def _take(self, wait_s: float) -> list[tuple[float, float]]:
        """When it happened and when its result was consumed."""
        taken = []
        for message in self._consumer.consume(5_000, wait_s):
            if message.error() is not None:
                continue
            now_ms = time.time() * 1000
            self.count += 1
            happened_ms = self._happened(json.loads(message.value()))
            if happened_ms is not None:
                taken.append((happened_ms, now_ms))
        return taken


def ms(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp() * 1000


def _consumer(bootstrap: str, name: str) -> Any:
    from confluent_kafka import Consumer

    settings = {"bootstrap.servers": bootstrap, "group.id": f"bench-{name}", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "isolation.level": "read_committed", "fetch.wait.max.ms": 20})
    consumer.subscribe([name])
    return consumer


def keep_producing(bootstrap: str, rate: Any, each: Callable[[Any, int, int, str], None]) -> None:
    """Call `each(producer, number, now in ms, the same as text)` so often a second, until the process is ended."""
    from confluent_kafka import Producer

    from barnabas.pipelines.common.disorder import iso

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 2})
    count, last, owed = 0, time.monotonic(), 0.0
    while True:
        now = time.monotonic()
        owed += (now - last) * rate.value
        last = now
        at_ms = int(time.time() * 1000)
        at = iso(at_ms)
        while owed >= 1:
            owed -= 1
            count += 1
            each(producer, count, at_ms, at)
        producer.poll(0)
        time.sleep(PAUSE_S)

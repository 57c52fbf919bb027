"""The log source end to end: a file of lines -> records in a topic. `python -m bench.connect_logs`

One node and one worker on this machine. The lines are there before the worker starts, so that it reads as fast as it
can; transactions are as by default, and the topic has one partition. What is measured begins at the first records that
a reader of committed ones can see, and ends at the last.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from tests.support.connect import ConnectWorker, all_records, size_of, written
from tests.support.members import QUIET
from tests.support.process import ServerProcess
from tests.support.servers import BarnabasNode

from .connect_figures import cpu_s, keep, load, peak_mb

_LINE_BYTES = 200
_LOOK_S = 0.02


@dataclass(frozen=True)
class Figures:
    first_record_s: float  # from the start of the process
    seconds: float
    records: int
    cpu_s: float
    node_cpu_s: float
    peak_mb: float

    def told(self, megabytes: float) -> str:
        us = self.cpu_s / self.records * 1e6
        return (
            f"{megabytes / self.seconds:6.0f} MB/s {self.records / self.seconds:10,.0f} records/s"
            f" {us:6.2f} us CPU a record (worker), {self.node_cpu_s / self.records * 1e6:5.2f} (node),"
            f" {self.peak_mb:4.0f} MB, first record after {self.first_record_s:.2f} s"
        )


def lines(count: int) -> list[bytes]:
    """As a service writes them: a time, a level, a class, numbers and words."""
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(3, 10))) for _ in range(500)]
    found = []
    for number in range(count):
        at = f"2026-11-18T{number // 3_600_000 % 24:02}:{number // 60_000 % 60:02}:{number // 1000 % 60:02}"
        line = f"{at}.{number % 1000:03}Z INFO  [worker-{number % 10}] com.example.shop.Orders order={number} "
        line += f"customer={chance.randrange(100_000)} took={chance.randrange(3000)}ms"
        while len(line) < _LINE_BYTES - 5:
            line += " " + chance.choice(words)
        found.append(line.encode())
    return found


class _Ends:
    """The end of a topic of one partition, as a reader of committed records sees it."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap, self._topic = bootstrap, topic
        settings = {**QUIET, "bootstrap.servers": bootstrap, "group.id": "bench", "isolation.level": "read_committed"}
        self._consumer = Consumer(settings)

    def until(self, offsets: int) -> float:
        """When so many offsets were there."""
        deadline = time.perf_counter() + 120
        is_there = False
        while True:
            is_there = is_there or size_of(self._bootstrap, self._topic) > 0
            if is_there:
                found = self._consumer.get_watermark_offsets(TopicPartition(self._topic, 0), 10, cached=False)
                if found is not None and found[1] >= offsets:
                    return time.perf_counter()
            assert time.perf_counter() < deadline, f"{self._topic} has not {offsets} offsets after two minutes"
            time.sleep(_LOOK_S)

    def close(self) -> None:
        self._consumer.close()


def measure(folder: Path, node: ServerProcess, name: str, file: Path, count: int, value: str) -> Figures:
    topic = f"logs-{name}"
    definition = written(
        folder / f"{name}.yaml",
        f"""
        name: {name}
        from: {{logs: {{paths: ["{file}"], value: {value}}}}}
        to: {{topic: {topic}, partitions: 1}}
        """,
    )
    worker = ConnectWorker(node.bootstrap, folder / f"{name}.log", definition)
    ends = _Ends(node.bootstrap, topic)
    began = time.perf_counter()
    try:
        worker.start()
        first = ends.until(1)
        before = cpu_s(worker.pid, node.pid)
        last = ends.until(count)  # the markers of transactions are offsets as well, but few
        after = cpu_s(worker.pid, node.pid)
        peak = peak_mb(worker.pid)
    finally:
        worker.stop()
        ends.close()
    used = [end - start for start, end in zip(before, after, strict=True)]
    found = len(all_records(node.bootstrap, topic))
    assert found == count, f"{topic} has {found} records of {count}"
    return Figures(first - began, last - first, count, used[0], used[1], peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--figures", action="store_true", help="keep the fastest run in docs/figures")
    told = parser.parse_args()
    before = load()
    print(f"load {before:.1f} on {os.cpu_count()} cores before", flush=True)
    runs: dict[str, list[Figures]] = {"text": [], "bytes": []}
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-logs-") as named,
        BarnabasNode(Path(named) / "node") as node,
    ):
        folder = Path(named)
        file = folder / "app.log"
        few = lines(min(told.lines, 200_000))
        with file.open("wb") as out:
            for start in range(0, told.lines, len(few)):
                out.write(b"\n".join(few[: told.lines - start]) + b"\n")
        megabytes = file.stat().st_size / 1e6
        print(f"{told.lines:,} lines, {megabytes:.0f} MB, lz4", flush=True)
        for run in range(told.runs):
            for value in ("text", "bytes"):
                found = measure(folder, node, f"{value}{run}", file, told.lines, value)
                runs[value].append(found)
                print(f"{value:6} {found.told(megabytes)}", flush=True)
    if told.figures:
        values: dict[str, float | str] = {"lines": told.lines, "megabytes": round(megabytes)}
        for value, several in runs.items():
            best = min(several, key=lambda each: each.seconds)
            values[f"{value}_mb_s"] = round(megabytes / best.seconds)
            values[f"{value}_us"] = round(best.cpu_s / best.records * 1e6, 2)
            values[f"{value}_core_mb_s"] = round(megabytes / best.cpu_s)
            values[f"{value}_node_us"] = round(best.node_cpu_s / best.records * 1e6, 2)
            values[f"{value}_peak_mb"] = round(max(each.peak_mb for each in several))
            values[f"{value}_first_s"] = round(min(each.first_record_s for each in several), 2)
        keep("connect-logs", before, **values)
    print(f"load {load():.1f} after")


if __name__ == "__main__":
    main()

"""Splits that share a thread and a producer, against a real node: what one cannot write does not hold up the others."""

from __future__ import annotations

import random
import threading
import time

import pytest

from barnabas.connect.cluster import positions
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.contract import Chunk, Options, Position, Reader, Record, Source
from barnabas.connect.definition.definition import Definition
from barnabas.connect.runtime.progress import Progress
from barnabas.connect.runtime.split_reading import SplitReading
from barnabas.testing import running_node
from tests.support.connect import all_records
from tests.support.members import until

COUNT = 60


class _Numbers(Reader):
    """The good split gives numbers one by one; the bad one a record that is too large, until it is mended."""

    def __init__(self, split: str, position: Position | None, mended: threading.Event) -> None:
        self._split, self._next, self._mended = split, int((position or {"next": 0})["next"]), mended

    def read(self, most: int, wait_s: float) -> Chunk | None:
        if self._next == COUNT:
            return None
        value = f"{self._split} {self._next}".encode()
        if self._split == "bad" and self._next == 2 and not self._mended.is_set():
            value = random.Random(1).randbytes(2_000_000)
        self._next += 1
        return Chunk([Record(value, self._split)], {"next": self._next})


class _Splits(Source):
    def __init__(self, name: str, options: Options) -> None:
        self.mended = threading.Event()

    def splits(self) -> list[str]:
        return ["good", "bad"]

    def open(self, split: str, position: Position | None) -> Reader:
        return _Numbers(split, position, self.mended)


def test_a_record_that_is_refused_stops_its_split_only(monkeypatch: pytest.MonkeyPatch) -> None:
    source = _Splits("", {})
    monkeypatch.setattr(Definition, "source", lambda _: source)
    definition = Definition(name="numbers", side="source", connector="numbers", options={}, topic="written")
    with running_node({}) as node:
        cluster = Cluster(node.bootstrap)
        positions.ensure(cluster, definition)
        reading = SplitReading(cluster, definition, Progress("numbers", "w", 0), (0, 0), source.splits())
        ending = threading.Event()
        thread = threading.Thread(target=reading.run, args=(ending,))
        thread.start()

        def written() -> list[str]:
            if "written" not in cluster.admin().list_topics(timeout=10).topics:
                return []
            return sorted((each.value() or b"").decode() for each in all_records(node.bootstrap, "written"))

        try:
            good = [f"good {number}" for number in range(COUNT)]
            begins = ["bad 0", "bad 1"]
            until(lambda: written() == sorted(good + begins), "the other split is written, each record once", 20)
            until(lambda: reading.problem.startswith("bad: topic written refuses a batch"), "it is said which", 10)
            time.sleep(1.5)  # it is tried again, and nothing comes twice
            assert written() == sorted(good + begins)
            source.mended.set()
            bad = [f"bad {number}" for number in range(COUNT)]
            until(lambda: written() == sorted(good + bad), "it goes on", 30)
            until(lambda: not reading.problem, "and has no problem", 10)
        finally:
            ending.set()
            thread.join(10)

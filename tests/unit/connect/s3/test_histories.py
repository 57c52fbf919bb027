"""Histories of several writers of one partition: each request may be lost before or after the bucket has it, and other
writers may go on for any time between two requests of one. In the end each offset is there once."""

from __future__ import annotations

import random

import pytest

from barnabas.connect.connectors.s3 import claims
from barnabas.connect.connectors.s3.batch import Memory
from barnabas.connect.connectors.s3.claims import Claims
from barnabas.connect.connectors.s3.options import Layout, read_sink_options
from barnabas.connect.connectors.s3.sink import S3Writer
from barnabas.connect.contract import Delivered
from barnabas.connect.errors import Unavailable
from tests.support.delivered import START_MS, delivered
from tests.unit.connect.s3.memory import MemoryBucket

LAST, FILTERED = 120, 7
OPTIONS = read_sink_options(
    {"bucket": "b", "format": "jsonl", "compression": "none", "metadata": True, "object_records": 9}
)


def records(first: int, end: int) -> list[Delivered]:
    """Of two hours that interleave; every seventh offset is none."""
    return [
        delivered(each, {"n": each}, timestamp_ms=START_MS + each % 2 * 3_600_000)
        for each in range(first, end)
        if each % FILTERED
    ]


class Worker:
    """A runtime that has the partition, or thinks so."""

    def __init__(self, history: History) -> None:
        self.history, self.busy = history, False
        self.writer: S3Writer | None = None
        self.at = self.durable = 0

    def step(self) -> None:
        rng = self.history.rng
        self.busy = True
        try:
            if self.writer is None:
                layout = Layout(OPTIONS, "orders", 0)
                bucket = self.history.bucket
                self.writer = S3Writer(OPTIONS, bucket, Claims(bucket, "lake", "orders", 0), layout, Memory(10**9))
                self.at = self.writer.next_offset() or self.durable
            end = min(LAST, self.at + rng.randrange(1, 14))
            first = max(0, self.at - rng.randrange(3))
            assert not self.writer.write(records(first, end), end)
            self.at = end
            durable = self.writer.flush(rng.random() < 0.3 or end == LAST)
            self.durable = max(self.durable, durable or 0)
            if rng.random() < 0.1:
                self.writer = None  # killed
        except Unavailable:
            if rng.random() < 0.5:
                self.writer = None  # the other half gives the same writer the same records again
        finally:
            self.busy = False


class History:
    def __init__(self, seed: int) -> None:
        self.rng, self.bucket = random.Random(seed), MemoryBucket()
        self.loss = self.rng.choice([0, 0.02, 0.1])
        self.switch = self.rng.choice([0, 0.05, 0.3])
        self.workers = [Worker(self) for _ in range(self.rng.randrange(1, 4))]
        self.bucket.before = self._before
        self.bucket.after = self._lost

    def _before(self) -> None:
        idle = [each for each in self.workers if not each.busy]
        while idle and self.rng.random() < self.switch:
            self.rng.choice(idle).step()
            idle = [each for each in self.workers if not each.busy]
        self._lost()

    def _lost(self) -> None:
        if self.rng.random() < self.loss:
            raise Unavailable("lost")

    def run(self) -> None:
        for _ in range(1000):
            self.rng.choice(self.workers).step()
            if all(each.durable == LAST for each in self.workers):
                break
        self.loss = self.switch = 0
        for each in self.workers:
            each.writer = None
            while each.durable < LAST:
                each.step()


@pytest.mark.parametrize("kept", ["many", "few"])
@pytest.mark.parametrize("part", range(4))
def test_each_offset_is_written_once(part: int, kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kept == "few":
        monkeypatch.setattr(claims, "MANY", 4)
        monkeypatch.setattr(claims, "KEPT", 1)
    for seed in range(part * 60, part * 60 + 60):
        history = History(seed)
        history.run()
        expected = [each for each in range(LAST) if each % FILTERED]
        assert history.bucket.offsets() == expected, f"seed {seed}"
        twice = [name for name, times in history.bucket.written.items() if times > 1 and "_barnabas/" not in name]
        assert not twice, f"seed {seed}"

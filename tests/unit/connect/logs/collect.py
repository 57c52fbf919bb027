"""Reads a source as the runtime does: positions go through JSON, and a crash forgets what came after the last one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from barnabas.connect.connectors.logs.source import LogsSource
from barnabas.connect.contract import Position, Record, Value
from tests.support.members import until


class Collector:
    """Reads one split. `records` is what is in the log for good."""

    def __init__(self, options: dict[str, object], split: str | None = None) -> None:
        self.options, self.split = options, split
        self.records: list[Record] = []
        self.position: Position | None = None
        self.rng = random.Random(7)

    @property
    def values(self) -> list[Value]:
        return [record.value for record in self.records]

    def run(self, enough: Callable[[], bool], crash_every: int = 0, most: int = 500, timeout_s: float = 30) -> None:
        """Reads until it is enough. With `crash_every`, the reader is opened again after about so many chunks, and
        half of the time a chunk that was read before is lost with it."""
        source = LogsSource("logs", self.options)
        try:
            until(lambda: self._session(source, enough, crash_every, most), "enough records", timeout_s)
        finally:
            source.close()

    def _session(self, source: LogsSource, enough: Callable[[], bool], crash_every: int, most: int) -> bool:
        splits = source.splits()
        split = self.split or (splits[0] if splits else None)
        if split is None:
            return False
        reader = source.open(split, json.loads(json.dumps(self.position)))
        try:
            chunks = self.rng.randint(1, 2 * crash_every) if crash_every else 1_000_000
            for _ in range(chunks):
                chunk = reader.read(self.rng.randint(1, most), 0.1)
                if chunk is not None:
                    self.records += chunk.records
                    self.position = json.loads(json.dumps(chunk.position))
                    reader.committed(self.position)
                if enough():
                    return True
            if crash_every and self.rng.random() < 0.5:
                reader.read(most, 0.05)  # nobody gets to see it
        finally:
            reader.close()
        return False

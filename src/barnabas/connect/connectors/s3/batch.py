"""Records that are gathered until they are written as one batch: offsets [first, end) of a partition, and the rows of
each object. Where the target has claimed other offsets, a batch is cut there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeAlias

from barnabas.connect.connectors.s3.lines import JsonRows
from barnabas.connect.connectors.s3.parquet import ParquetRows
from barnabas.connect.contract import Delivered, Value

Rows: TypeAlias = ParquetRows | JsonRows


class Batch:
    def __init__(self, first: int, make: Callable[[], Rows]) -> None:
        self.first = self.end = first
        self.rows: dict[str, Rows] = {}  # by place
        self.bytes = self.records = 0
        self.since = time.monotonic()
        self._make = make

    def add(self, record: Delivered, place: str, row: dict[str, Value]) -> None:
        """Raises one of rows.NOT_JSON, and has then added nothing."""
        rows = self.rows.get(place)
        if rows is None:
            made = self._make()
            self.bytes += made.add(record, row)
            self.rows[place] = made
        else:
            self.bytes += rows.add(record, row)
        if not self.records:
            self.since = time.monotonic()
        self.records += 1

    def split(self, offset: int) -> Batch:
        """Keeps what is before `offset`, gives the rest, which begins there."""
        rest = Batch(offset, self._make)
        rest.end, self.end = max(self.end, offset), min(self.end, offset)
        rest.since = self.since
        rest.rows = {place: rows.split(offset) for place, rows in self.rows.items()}
        whole = self.records
        for part in (self, rest):
            part.rows = {place: rows for place, rows in part.rows.items() if len(rows)}
            part.records = sum(map(len, part.rows.values()))
        rest.bytes = self.bytes * rest.records // max(1, whole)  # about: what it is for is a limit
        self.bytes -= rest.bytes
        return rest


class Memory:
    """What all writers of a sink hold. Each may only write its own, so one that holds more than its share does."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, dict[int, int]()
        self._lock = threading.Lock()

    def holds(self, writer: int, held: int) -> bool:
        """Whether this writer has to write now."""
        with self._lock:
            self._held[writer] = held
            whole = sum(self._held.values())
            return whole > self._most and held * len(self._held) >= whole

    def gone(self, writer: int) -> None:
        with self._lock:
            self._held.pop(writer, None)

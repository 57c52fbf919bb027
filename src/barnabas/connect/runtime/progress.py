"""What a task has done and how it is, counted by its own threads and read by the worker that tells it."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable

from barnabas.connect.cluster.status import State, TaskStatus
from barnabas.connect.contract import Behind

log = logging.getLogger("barnabas.connect")
_RATE_S = 10.0


class Progress:
    def __init__(self, connector: str, worker: str, task: int) -> None:
        self._lock = threading.Lock()
        self._status = TaskStatus(connector=connector, worker=worker, task=task, since_ms=_now_ms())
        self._samples: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])
        self._behind: dict[str, Behind | None] = {}

    @property
    def connector(self) -> str:
        return self._status.connector

    def wrote(self, records: int, dead: int = 0) -> None:
        with self._lock:
            self._status.records += records
            self._status.dead += dead

    def is_in(self, state: State, problem: str = "") -> None:
        """Said in the log once for each change."""
        with self._lock:
            status = self._status
            if (status.state, status.problem) == (state, problem):
                return
            status.state, status.problem, status.since_ms = state, problem, _now_ms()
        if state == "waiting":
            log.warning("%s: %s. Trying again", self.connector, problem.rstrip("."))
        elif state == "failed":
            log.error("%s: stopped: %s", self.connector, problem)
        else:
            log.info("%s: %s", self.connector, state)

    def works_on(self, parts: Iterable[str]) -> None:
        with self._lock:
            self._status.parts = sorted(parts)
            self._behind = {part: self._behind.get(part) for part in self._status.parts}

    def is_behind(self, part: str, behind: Behind | None) -> None:
        with self._lock:
            if part in self._behind:
                self._behind[part] = behind

    def told(self) -> TaskStatus:
        """As of now."""
        with self._lock:
            now = time.monotonic()
            status = self._status
            self._samples.append((now, status.records))
            while now - self._samples[0][0] > _RATE_S and len(self._samples) > 2:
                self._samples.popleft()
            (began, before), (ended, after) = self._samples[0], self._samples[-1]
            status.records_per_s = round((after - before) / (ended - began), 1) if ended > began else 0.0
            status.told_ms = _now_ms()
            known = [each for each in self._behind.values() if each is not None]
            status.behind_records = _sum(each.records for each in known)
            status.behind_bytes = _sum(each.bytes for each in known)
            seconds = [each.seconds for each in known if each.seconds is not None]
            status.behind_seconds = round(max(seconds), 3) if seconds else None
            return status


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [each for each in numbers if each is not None]
    return sum(known) if known else None


def _now_ms() -> int:
    return int(time.time() * 1000)

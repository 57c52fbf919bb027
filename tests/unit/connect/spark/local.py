"""Spark without Spark: a context that runs a round where it is called, as a task on this machine would."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

Task = Callable[[Iterable[str]], Iterable[str]]


class LocalContext:
    """What connect/spark/session.py uses of a SparkContext."""

    def __init__(self) -> None:
        self.has_stopped = False
        self.described: list[str] = []
        self.cancelled: list[str] = []
        self.fail_with: Exception | None = None
        self.goes = threading.Event()  # rounds wait for it, as for cores that are busy
        self.goes.set()

    @property
    def _jsc(self) -> LocalContext:
        return self

    def sc(self) -> LocalContext:
        return self

    def isStopped(self) -> bool:
        return self.has_stopped

    def stop(self) -> None:
        self.has_stopped = True
        self.goes.set()

    def setJobGroup(self, group: str, description: str, interruptOnCancel: bool = False) -> None:
        self.described.append(description)

    def cancelJobGroup(self, group: str) -> None:
        self.cancelled.append(group)

    def parallelize(self, texts: list[str], slices: int) -> Job:
        assert slices == 1
        return Job(self, texts)


class Job:
    def __init__(self, context: LocalContext, texts: list[str], task: Task = list) -> None:
        self._context, self._texts, self._task = context, texts, task

    def mapPartitions(self, task: Task) -> Job:
        return Job(self._context, self._texts, task)

    def collect(self) -> list[str]:
        assert self._context.goes.wait(30)
        if self._context.fail_with is not None:
            raise self._context.fail_with
        return list(self._task(self._texts))

"""Spark without Spark: a context that runs a round where it is called, as a task on this machine would."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet

COUNTING = """
    import time

    def read(position, options):
        time.sleep(0.01)
        number = (position or {"number": 0})["number"]
        for _ in range(10):
            number += 1
            yield {"number": number}, {"number": number}
"""

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
        self.killed = (
            threading.Event()
        )  # what runs is gone as by kill -9: its task can end nothing, and nothing is heard

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
        return self._unless_killed()

    def _unless_killed(self) -> list[str]:
        answer: Future[list[str]] = Future()
        threading.Thread(target=self._run, args=(answer,), daemon=True).start()
        while True:
            try:
                return answer.result(0.02)
            except NotYet:
                if self._context.killed.is_set():
                    raise RuntimeError("an executor was lost") from None

    def _run(self, answer: Future[list[str]]) -> None:
        try:
            answer.set_result(list(self._task(self._texts)))
        except BaseException as problem:  # as Spark hands it to its driver
            answer.set_exception(problem)

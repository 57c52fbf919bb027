"""A thread that makes something so many times a second, and counts it."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod

from barnabas.cli.common.failure import Failure

_BEHIND_MOST_S = 1.0  # a machine that cannot keep the pace makes fewer, and not all of them at once later


class Maker(ABC):
    def __init__(self, rate: float) -> None:
        self.made = 0  # records that are to arrive
        self._every_s = 1 / rate
        self._ending = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """When it returns, `made` is final."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(30)

    def check(self) -> None:
        if self._failure is not None:
            raise Failure(f"{type(self).__name__.lower()}: {self._failure}")

    def close(self) -> None:
        self.finish()

    @abstractmethod
    def make_one(self) -> None: ...

    def _run(self) -> None:
        due = time.monotonic()
        try:
            while not self._ending.wait(max(0.0, due - time.monotonic())):
                self.make_one()
                due = max(due + self._every_s, time.monotonic() - _BEHIND_MOST_S)
        except Exception as error:  # raised again by `check`, in the thread that shows it
            self._failure = error

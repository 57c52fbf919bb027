"""Work beside the queries of a run, once: in a thread, begun when a first batch is done, tried again when it fails.

For history that a live query need not wait for. Whoever gives the work sees to it that doing it again does no harm.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from barnabas.pipelines.framework.failures import explain

TRIES = 4
PAUSE_S = 5.0


class Beside:
    """`step` is called again and again; what is wrong, if anything, is in `trouble`."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._thread: threading.Thread | None = None
        self._again_at = 0.0
        self._tries = 0
        self.done = False
        self.trouble = ""

    def step(self, may_begin: bool) -> None:
        if self.done or self._is_running() or time.monotonic() < self._again_at:
            return
        if self._tries >= TRIES or not (may_begin or self._tries):
            return
        self._tries += 1
        self._thread = threading.Thread(target=self._try, daemon=True)
        self._thread.start()

    def wait(self, timeout_s: float) -> None:
        if self._thread is not None:
            self._thread.join(timeout_s)

    @property
    def failed(self) -> bool:
        """It is not tried any more."""
        return not self.done and self._tries >= TRIES and not self._is_running()

    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _try(self) -> None:
        try:
            self._work()
        except Exception as error:  # Spark's, Py4J's or ours: told, and tried again
            self.trouble = explain(error)
            self._again_at = time.monotonic() + PAUSE_S
        else:
            self.done, self.trouble = True, ""

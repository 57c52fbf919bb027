"""Work of a mirror that comes back every few seconds and may take long: in a thread of its own, so that records are
not held up by it. A reader of the runtime hands on what it gives, and says what goes wrong."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence

from barnabas.connect.contract import Chunk, Reader, Record
from barnabas.connect.errors import ConnectError, Unavailable

log = logging.getLogger("barnabas.connect")

_STOP_S = 5.0


class RoundsReader(Reader):
    """`work` gives records to be written, perhaps none; it is told to stop by the event."""

    def __init__(
        self,
        name: str,
        every_s: float,
        work: Callable[[threading.Event], Sequence[Record]],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._every_s, self._work, self._close = every_s, work, close
        self._done: queue.SimpleQueue[Sequence[Record] | ConnectError] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                records = self._work(self._stop)
                if records:
                    self._done.put(records)
                while not self._done.empty() and not self._stop.is_set():
                    self._stop.wait(0.1)  # nobody takes them: the cluster is away, and more would only pile up
                self._stop.wait(self._every_s)
        except ConnectError as problem:
            self._done.put(problem)
        except Exception as problem:  # a defect: said, and tried again like any failure
            log.exception("%s failed", self._thread.name)
            self._done.put(Unavailable(f"{type(problem).__name__}: {problem}"))
        finally:
            self._close()

    def read(self, most: int, wait_s: float) -> Chunk | None:
        try:
            found = self._done.get_nowait()
        except queue.Empty:
            return None
        if isinstance(found, ConnectError):
            raise Unavailable(found.message, found.way_out)
        return Chunk(found, {"at": int(time.time() * 1000)})

    def close(self) -> None:
        self._stop.set()
        self._thread.join(_STOP_S)

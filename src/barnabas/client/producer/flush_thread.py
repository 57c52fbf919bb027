"""A thread that keeps librdkafka from lingering while a coroutine awaits a delivery.

`linger_ms` lets batches form, which is right for records that are only queued and costs the whole linger for a record
somebody awaits. librdkafka sends at once while a flush is under way, and a flush blocks its thread, so it runs here and
not in the loop's thread. Delivery callbacks then come in this thread, as soon as the broker has answered.

The thread is started by the first awaited record and sleeps whenever nothing is awaited.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

from barnabas.client.errors import BarnabasError

FLUSH_SLICE_S = 0.05  # one flush; a closed producer is noticed after it


class Flushable(Protocol):
    def wait(self, seconds: float) -> None: ...


class FlushThread:
    def __init__(self, producer: Flushable) -> None:
        self._producer = producer
        self._awaited = 0
        self._has_work = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        """A record is awaited until the block ends. Only the loop's thread enters and leaves."""
        self._awaited += 1
        self._has_work.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="barnabas-flush", daemon=True)
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._awaited -= 1
        if not self._awaited:
            self._has_work.clear()

    def close(self) -> None:
        self._closed = True
        self._has_work.set()

    def _run(self) -> None:
        while not self._closed:
            self._has_work.wait()
            try:
                self._producer.wait(FLUSH_SLICE_S)
            except BarnabasError:  # a fatal error, which every record and transaction reports
                time.sleep(FLUSH_SLICE_S)

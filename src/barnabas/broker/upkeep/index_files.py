"""Makes the two index files of every new segment, empty, soon after its first record and in a thread.

Entries come every few kilobytes, so a small log would have none of them for long, and Kafka's tools (kafka-dump-log)
fail on files that are not there. To make them costs more than an append, which is why nobody waits for it.
"""

import asyncio
import contextlib
from collections import deque
from concurrent.futures import Executor

from barnabas.storage.segment import Segment

_SOON_SECONDS = 0.2
_AT_ONCE = 20  # segments a turn, 100 a second: the first writes to thousands of partitions need the CPU themselves


class IndexFiles:
    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._waiting: deque[Segment] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._busy = False
        self._stopped = False

    def segment_created(self, segment: Segment) -> None:
        if self._stopped:
            return
        self._waiting.append(segment)
        self._later()

    def _later(self) -> None:
        if self._timer is None and not self._busy:
            with contextlib.suppress(RuntimeError):  # not on the loop: it is made together with the next one
                self._timer = asyncio.get_running_loop().call_later(_SOON_SECONDS, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._busy = True
        some = [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]
        work = asyncio.get_running_loop().run_in_executor(self._threads, make_index_files, some)
        work.add_done_callback(self._done)

    def _done(self, work: "asyncio.Future[None]") -> None:
        self._busy = False
        if not work.cancelled():
            work.exception()  # nothing is lost: the files come with their first entries
        if self._waiting and not self._stopped:
            self._later()

    def stop(self) -> None:
        self._stopped = True
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()


def make_index_files(segments: list[Segment]) -> None:
    for segment in segments:
        segment.make_index_files()

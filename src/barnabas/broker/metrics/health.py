"""What is wrong with a running node, and figures about it, for whoever looks from outside (`barnabas doctor`).

A part of the node that fails and goes on says so by `failed(what, subject, reason)`; the same failure again only
counts. `recovered(what, subject)` takes it back. `figures` are counters of a part, asked for when the file is written.

All of it stands in `status.json` in the data folder, replaced in one step, a moment after a change and never more often
than every two seconds. It is not flushed to the disk: after a crash nobody needs it. A clean stop removes it.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from barnabas.broker.clock import wall_ms
from barnabas.model.limits import HEALTH_PROBLEMS_MAX, HEALTH_REASON_MAX_CHARS

log = logging.getLogger(__name__)

STATUS_FILE = "status.json"
_WRITE_SECONDS = 2.0
Figures = Callable[[], dict[str, object]]


class Problem(NamedTuple):
    what: str  # the part that fails: "compaction", "retention"
    subject: str  # what it fails at: a partition, a file
    reason: str
    way_out: str
    times: int
    first_ms: int
    last_ms: int


class Health:
    def __init__(self) -> None:
        self._problems: dict[tuple[str, str], Problem] = {}
        self.omitted = 0  # problems that found no room in the table
        self.figures: dict[str, Figures] = {}
        self._facts: dict[str, object] = {}
        self._write: Callable[[bytes], None] | None = None
        self._threads: Executor | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writing = False
        self._changed = False

    # --- what the parts of the node say -----------------------------------------------------------------------------

    def failed(self, what: str, subject: str, reason: str, way_out: str = "") -> int:
        """`what` failed at `subject`; gives how often by now, so that a caller can log the first time only."""
        key = (what, subject)
        now_ms, known = wall_ms(), self._problems.get(key)
        if known is None and len(self._problems) >= HEALTH_PROBLEMS_MAX:
            self.omitted += 1
            self.changed()
            return 1
        first_ms, count = (known.first_ms, known.times + 1) if known is not None else (now_ms, 1)
        reason = reason[:HEALTH_REASON_MAX_CHARS]
        self._problems[key] = Problem(what, subject[:HEALTH_REASON_MAX_CHARS], reason, way_out, count, first_ms, now_ms)
        self.changed()
        return count

    def recovered(self, what: str, subject: str) -> None:
        """It works again, or need not any more."""
        if self._problems.pop((what, subject), None) is not None:
            self.changed()

    def problems(self) -> list[Problem]:
        return list(self._problems.values())

    # --- the file ---------------------------------------------------------------------------------------------------

    def publish(self, facts: dict[str, object], threads: Executor, write: Callable[[bytes], None]) -> None:
        """From now on the file is kept: `write` replaces it and runs in a thread."""
        self._facts, self._threads, self._write = facts, threads, write
        self._write_now()

    def changed(self) -> None:
        """Something to tell: the file is written soon. Call it from the loop's thread."""
        self._changed = True
        if self._write is not None and self._timer is None and not self._writing:
            self._timer = asyncio.get_running_loop().call_later(_WRITE_SECONDS, self._write_now)

    def _write_now(self) -> None:
        assert self._write is not None
        self._timer, self._changed, self._writing = None, False, True
        data = json.dumps(self.status()).encode()
        done = asyncio.get_running_loop().run_in_executor(self._threads, self._write, data)
        done.add_done_callback(self._written)

    def _written(self, done: "asyncio.Future[None]") -> None:
        self._writing = False
        if not done.cancelled() and (error := done.exception()) is not None:
            log.info("%s not written: %s", STATUS_FILE, error)
        if self._changed:
            self.changed()

    def status(self) -> dict[str, object]:
        return (
            self._facts
            | {
                "version": 1,
                "written_ms": wall_ms(),
                "problems": [problem._asdict() for problem in self._problems.values()],
                "problems_omitted": self.omitted,
            }
            | {name: figures() for name, figures in self.figures.items()}
        )

    def close(self) -> None:
        self._write = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

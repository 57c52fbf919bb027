"""Notices when something holds the loop: the node promises that no callback takes longer than LOOP_BUDGET_MS.

uvloop has no hook around a callback, and timing each one would cost every request. Instead a thread looks at what the
loop's thread executes (`sys._current_frames`), ten times a second while the loop has little to do and forty times
while it has much. When it is inside a callback, the thread puts a marker into the loop's queue and looks again: as long
as the marker has not run and the outermost frame is the same, it is still the same callback. Then it looks every 5 ms,
until the callback ends.

What is counted is time on the processor or asleep (a disk); time in which the loop's thread could have run and another
process had the processor is not the callback's fault (/proc/.../schedstat). When the thread has been put on a processor
once since the last look, all it did since then counts. A call into C that keeps the interpreter from the watching
thread is noticed too: it wakes late, and finds the culprit on the stack. The figure is a lower bound: a hold may be
25 ms longer than it says, and one that falls between two looks (less than 100 ms on an idle loop) goes unnoticed.
"""

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from barnabas.broker.network.context import RequestContext
from barnabas.model.limits import LOOP_BUDGET_MS, LOOP_HOLD_SITES_MAX
from barnabas.wire.apis import SERVED

if TYPE_CHECKING:
    from barnabas.model.json_values import JsonObject

log = logging.getLogger(__name__)

_LOOK_IDLE_SECONDS = 0.1  # each look costs 0.1 ms of CPU on a small virtual machine
_LOOK_SECONDS = 0.025
_BUSY_SHARE = 0.2  # of the time on a processor: look more often
_LOOK_CLOSER_SECONDS = 0.005
_LATE_SECONDS = 0.02  # a thread may wake this much later than it asked for
_LOG_EVERY_SECONDS = 10.0
_OURS = f"{os.sep}barnabas{os.sep}"


class Hold(Struct, frozen=True):
    """One callback that took too long."""

    milliseconds: int
    where: str  # the function of ours that was seen most
    request: str  # "DescribeConfigs from 10.0.0.7 (client id app)", empty when it was no request


class LoopHolds(Struct):
    """The counters; written by the loop's thread only."""

    count: int = 0
    worst_ms: int = 0
    worst_where: str = ""
    worst_request: str = ""
    sites: dict[str, list[int]] = field(default_factory=dict)  # where: [how often, worst in milliseconds]
    apis: dict[str, list[int]] = field(default_factory=dict)  # the same by the API that was served
    _log_after: float = 0.0
    _unlogged: int = 0

    def record(self, hold: Hold, now: float) -> None:
        self.count += 1
        if hold.milliseconds > self.worst_ms:
            self.worst_ms, self.worst_where, self.worst_request = hold.milliseconds, hold.where, hold.request
        _count(self.sites, hold.where, hold.milliseconds)
        _count(self.apis, hold.request.partition(" ")[0], hold.milliseconds)
        if now < self._log_after:
            self._unlogged += 1
            return
        more = f"; {self._unlogged} more since the last such line" if self._unlogged else ""
        served = f", serving {hold.request}" if hold.request else ""
        log.warning("the loop was held for %d ms by %s%s%s", hold.milliseconds, hold.where, served, more)
        self._log_after, self._unlogged = now + _LOG_EVERY_SECONDS, 0

    def figures(self) -> "JsonObject":
        return {
            "budget_ms": LOOP_BUDGET_MS,
            "holds": self.count,
            "worst_ms": self.worst_ms,
            "worst_where": self.worst_where,
            "worst_request": self.worst_request,
            "sites": {where: {"holds": count, "worst_ms": worst} for where, (count, worst) in self.sites.items()},
            "apis": {name: {"holds": count, "worst_ms": worst} for name, (count, worst) in self.apis.items()},
        }


def _count(table: dict[str, list[int]], key: str, milliseconds: int) -> None:
    row = table.get(key)
    if row is None:
        if len(table) >= LOOP_HOLD_SITES_MAX:
            return
        row = table[key] = [0, 0]
    row[0], row[1] = row[0] + 1, max(row[1], milliseconds)


class LoopWatchdog:
    """Call `start` from the loop's thread. `on_hold` is called in the loop."""

    def __init__(self, on_hold: Callable[[Hold], None]) -> None:
        self._on_hold = on_hold
        self._stopped = False
        self._idle_frame: FrameType | None = None  # what the loop's thread executes between two callbacks
        self._marked = False  # a marker waits in the loop's queue

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        try:
            self._schedstat = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY)
        except OSError:
            self._schedstat = -1
        self._loop.call_soon(self._turned)
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """The thread ends by itself, a moment later."""
        self._stopped = True

    def _turned(self) -> None:
        """In the loop: all that was ready when the marker was set has been called."""
        self._idle_frame = sys._getframe(1)
        self._marked = False

    # --- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        current: _Callback | None = None
        last, pause = self._clock(), _LOOK_SECONDS
        while True:
            time.sleep(pause)  # half the price of waiting for an event
            if self._stopped or self._loop.is_closed():  # closed under a node that nobody stopped
                break
            now = self._clock()
            frame = sys._current_frames().get(self._loop_thread)
            outermost = self._callback_of(frame)
            if current is not None and (current.frame is not outermost or not self._marked):
                self._ended(current)
                current = None
            if frame is not None and outermost is not None:
                if current is None:
                    current = _Callback(outermost, _began(last, now, pause))
                    self._mark()
                current.seen_at(now.work, frame)
            pause = _LOOK_IDLE_SECONDS if now.cpu - last.cpu < pause * _BUSY_SHARE else _LOOK_SECONDS
            if current is not None:
                pause = _LOOK_CLOSER_SECONDS
            last, frame, outermost = now, None, None  # a frame that is held keeps its local variables
        self._idle_frame = None
        if self._schedstat >= 0:
            os.close(self._schedstat)

    def _callback_of(self, frame: FrameType | None) -> FrameType | None:
        """The frame that the loop called; None between two callbacks, or when the loop does not run."""
        idle = self._idle_frame
        if frame is None or frame is idle or not self._loop.is_running():
            return None
        while (back := frame.f_back) is not None:
            if back is idle:
                return frame
            frame = back
        return None

    def _mark(self) -> None:
        if not self._marked:
            self._marked = True
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._turned)

    def _ended(self, callback: "_Callback") -> None:
        milliseconds = int((callback.last - callback.began) * 1000)
        if milliseconds > LOOP_BUDGET_MS:
            hold = Hold(milliseconds, callback.places.most_common(1)[0][0], callback.request)
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._on_hold, hold)

    def _clock(self) -> "_Clock":
        cpu = waited = runs = 0
        if self._schedstat >= 0:
            with contextlib.suppress(OSError, ValueError):
                cpu, waited, runs = map(int, os.pread(self._schedstat, 64, 0).split()[:3])
        return _Clock(time.monotonic() - waited / 1e9, cpu / 1e9, runs)


class _Clock(NamedTuple):
    """Seconds of the loop's thread."""

    work: float  # monotonic, without the time in which it waited for a processor
    cpu: float
    runs: int  # how often it was put on a processor


class _Callback:
    """What the loop was last seen at."""

    def __init__(self, frame: FrameType, began: float) -> None:
        self.frame = frame
        self.began = began
        self.last = began
        self.looks = 0
        self.places: Counter[str] = Counter()
        self.request = ""

    def seen_at(self, now: float, frame: FrameType) -> None:
        self.last = now
        self.looks += 1
        self.places[_innermost(frame)] += 1
        if not self.request and (now - self.began) * 2000 > LOOP_BUDGET_MS:
            self.request = _request_of(frame)


def _began(last: _Clock, now: _Clock, pause: float) -> float:
    """When a callback began that is seen for the first time: now, as far as one can know. But the loop's thread may
    have done nothing else since it last slept; or this thread woke late, because C code kept the interpreter from it,
    and whoever called that is still on the stack."""
    cpu = now.cpu - last.cpu
    if now.runs - last.runs <= 1 and last.runs:
        return now.work - cpu
    late = now.work - last.work - pause - _LATE_SECONDS
    return now.work - min(late, cpu) if late > 0 else now.work


def _innermost(frame: FrameType) -> str:
    """The deepest function of ours."""
    at: FrameType | None = frame
    while at is not None:
        code = at.f_code
        if _OURS in code.co_filename or code.co_filename.startswith(("<read ", "<write ")):
            module = code.co_filename.rpartition(_OURS)[2].removesuffix(".py").replace(os.sep, ".")
            return f"{module} {code.co_qualname}"
        at = at.f_back
    return f"{frame.f_code.co_filename} {frame.f_code.co_qualname}"


def _request_of(frame: FrameType) -> str:
    """Which request is served, as far as the frames tell."""
    at: FrameType | None = frame
    while at is not None:
        code = at.f_code
        if _OURS in code.co_filename:
            values = at.f_locals
            context = values.get("context")
            if isinstance(context, RequestContext):
                client = f" (client id {context.client_id})" if context.client_id else ""
                return f"{_api_name(context.api_key)} from {context.session.client_host}{client}"
            host = getattr(values.get("connection"), "client_host", None)
            if "api_key" in values and host is not None:  # a connection to another node has none
                return f"{_api_name(values['api_key'])} from {host}"
        at = at.f_back
    return ""


def _api_name(api_key: int) -> str:
    return SERVED[api_key].name if api_key in SERVED else f"api key {api_key}"

"""Memory for requests that have not arrived whole, over all connections of the node (`queued.max.request.bytes`).

A frame that does not arrive at once is kept in a buffer of its connection, which grows as bytes come. When all of them
together would cross the limit, buffers that are empty are given back first. Then whoever wants more waits: its
connection is not read until there is room. Only the frame that was begun first may always grow, up to
`socket.request.max.bytes`, so that one request goes on whatever the others hold: the most that is ever held is the
limit and one frame.

A request whose handler takes long has been copied, so its buffer counts until it is answered, and even the first frame
waits while such buffers hold much: for FRAME_SECONDS at most, because who has joined a group may wait for minutes.

A client that holds memory others wait for has to use it: the connection is closed when nothing came for STALLED_SECONDS
or the frame is not whole after FRAME_SECONDS. Requests that wait behind one that is being answered hold memory without
asking (at most a receive buffer each); when twice the limit is held, the connection that holds most is closed.
"""

import asyncio
import logging
from itertools import islice
from typing import Protocol

from barnabas.model.limits import REQUEST_FRAME_SECONDS, REQUEST_STALLED_SECONDS

log = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0  # while somebody waits
_SERVED_AT_ONCE = 8


class Holder(Protocol):
    """A connection, as far as its buffer is concerned."""

    client_host: str
    last_active: float
    frame_begun: float

    @property
    def held_bytes(self) -> int: ...
    @property
    def waits_for_answer(self) -> bool: ...
    def release_buffer(self) -> None: ...
    def grow(self) -> None: ...
    def abort(self) -> None: ...


class RequestMemory:
    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.closed_connections = 0
        self._loop = asyncio.get_running_loop()
        self._holders: dict[Holder, None] = {}  # the frame begun first comes first
        self._empty: dict[Holder, None] = {}  # a buffer, and nothing in it
        self._waiting: dict[Holder, None] = {}  # for room
        self._timer: asyncio.TimerHandle | None = None

    # --- what connections tell --------------------------------------------------------------------------------------

    def changed(self, by_bytes: int) -> None:
        """A connection's buffer has grown or shrunk."""
        self.used_bytes += by_bytes
        if by_bytes < 0:
            self._serve_waiting()

    def begun(self, holder: Holder) -> None:
        """Its buffer holds the beginning of a frame, or frames that wait."""
        self._empty.pop(holder, None)
        self._holders.setdefault(holder)
        if self.used_bytes > 2 * self.limit_bytes:
            self._close_largest()

    def ended(self, holder: Holder) -> None:
        """Its buffer is empty; it keeps it for the next frame while there is room for everybody. And while the request
        is worked off: a handler that takes long has copied it, so its bytes are not free yet."""
        self._holders.pop(holder, None)
        if holder.waits_for_answer:
            self._empty[holder] = None
        elif self._waiting or self.used_bytes > self.limit_bytes:
            holder.release_buffer()
            self._serve_waiting()
        else:
            self._empty[holder] = None

    def gone(self, holder: Holder) -> None:
        for table in (self._holders, self._empty, self._waiting):
            table.pop(holder, None)
        self._serve_waiting()

    def may_grow(self, holder: Holder, more_bytes: int) -> bool:
        """Whether its buffer may become larger now; when not, `grow` is called as soon as it may."""
        if self.used_bytes + more_bytes <= self.limit_bytes:
            return True
        self._release_empty()
        worked_off = sum(each.held_bytes for each in self._empty)
        first = holder is next(iter(self._holders), None)
        if (first and worked_off < self.limit_bytes // 8) or self.used_bytes + more_bytes <= self.limit_bytes:
            return True
        if not self._waiting:
            log.warning("requests that have not arrived whole hold %d bytes: others wait", self.used_bytes)
        self._waiting[holder] = None
        if self._timer is None:
            self._timer = self._loop.call_later(_LOOK_SECONDS, self._look)
        return False

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    # --- making room ------------------------------------------------------------------------------------------------

    def _release_empty(self) -> None:
        """What is left are those whose request is worked off."""
        since = self._loop.time() - REQUEST_FRAME_SECONDS
        answered = [each for each in self._empty if not each.waits_for_answer or each.last_active < since]
        for holder in answered:
            del self._empty[holder]
            holder.release_buffer()

    def _serve_waiting(self) -> None:
        if not self._waiting:
            return
        first = next(iter(self._holders), None)
        if first in self._waiting and first is not None:
            del self._waiting[first]
            self._loop.call_soon(first.grow)
        if self.used_bytes < self.limit_bytes:
            for holder in list(islice(self._waiting, _SERVED_AT_ONCE)):
                del self._waiting[holder]
                self._loop.call_soon(holder.grow)  # it asks again, and waits again when there is not enough

    def _look(self) -> None:
        """Somebody waits: who holds memory without using it is closed."""
        self._timer = None
        now = self._loop.time()
        for holder in list(self._holders):
            if not self._waiting:
                break
            if holder in self._waiting or holder.waits_for_answer:
                continue
            stalled, took = now - holder.last_active, now - holder.frame_begun
            if stalled > REQUEST_STALLED_SECONDS or took > REQUEST_FRAME_SECONDS:
                self._close(holder, f"its request has not arrived whole after {took:.0f} s, and others wait for room")
        self._release_empty()  # some have been answered since
        self._serve_waiting()
        if self._waiting:
            self._timer = self._loop.call_later(_LOOK_SECONDS, self._look)

    def _close_largest(self) -> None:
        largest = max(self._holders, key=lambda holder: holder.held_bytes)
        self._close(largest, f"it holds {largest.held_bytes} of {self.used_bytes} bytes of requests")

    def _close(self, holder: Holder, why: str) -> None:
        log.warning("connection from %s closed: %s (queued.max.request.bytes)", holder.client_host, why)
        self.closed_connections += 1
        self._holders.pop(holder, None)
        holder.abort()
        holder.release_buffer()

"""How fast a leader fills replicas that are not in sync, so that clients do not notice: a node, or a whole zone, that
comes back fetches everything it has missed from the leaders that serve clients meanwhile.

The rate is for all such replicas of this node together, and finds itself. While they are filled, the loop is asked
every 50 ms whether it is late, which is what a client's request would wait for too: if it is, whatever takes the time,
the rate is halved; if not, it grows by a quarter. It never falls below `LEAST`, so a replica is filled in the end, and
without other load it has reached what disk and network give after a second. An answer has at most `ANSWER_MAX` of it:
the partitions that are in sync share the connection, producers wait for those, and they are read first.

This is beside the throttle that an operator sets (replication/throttle.py). It needs none.
"""

import asyncio

LEAST = 8 << 20  # bytes a second
MOST = 1 << 30
FIRST = 32 << 20
ANSWER_MAX = 2 << 20  # bytes
_TICK_SECONDS = 0.05
_LATE_SECONDS = 0.008
_SLOWER, _FASTER = 0.5, 1.25
_IDLE_TICKS = 20  # without a byte for so long, nothing is being filled


class RefillPace:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.rate = float(FIRST)
        self._allowed = float(ANSWER_MAX)  # bytes, as of the time beside it
        self._as_of = loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._idle = 0

    def room(self) -> int:
        """Bytes that may be sent now."""
        now = self._loop.time()
        self._allowed = min(self._allowed + (now - self._as_of) * self.rate, float(ANSWER_MAX))
        self._as_of = now
        return int(self._allowed)

    def wait_seconds(self) -> float:
        """Until a good part of an answer may be sent."""
        return max((ANSWER_MAX / 4 - self._allowed) / self.rate, 0.001)

    def sent(self, size: int) -> None:
        self._allowed -= size
        self._idle = 0
        if self._timer is None:
            self._watch()

    def _watch(self) -> None:
        self._due = self._loop.time() + _TICK_SECONDS
        self._timer = self._loop.call_at(self._due, self._tick)

    def _tick(self) -> None:
        late = self._loop.time() - self._due > _LATE_SECONDS
        self.rate = max(self.rate * _SLOWER, LEAST) if late else min(self.rate * _FASTER, MOST)
        self._idle += 1
        if self._idle < _IDLE_TICKS:
            self._watch()
        else:
            self._timer = None

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

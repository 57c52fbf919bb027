"""How fast a leader fills replicas that are not in sync, so that clients do not notice: a node, or a whole zone, that
comes back fetches everything it has missed from the leaders that serve clients meanwhile.

The rate is for all such replicas of this node together, and finds itself by delay, as LEDBAT does (RFC 6817). Clients
wait where the loop of the leader is late, and where a follower takes long to come back for more, because producers wait
for the partitions that it is in sync for. Both are watched while replicas are filled: each 50 ms the rate is halved if
one of them was seen, and grows by a tenth if not. It never falls below a floor: `LEAST` at first, which rises by a
twentieth each second that the rate stands on it. So a replica is filled in the end, also where more is written than
`LEAST`: with too few replicas in sync, clients are in more danger than a slow answer puts them in. An answer has a
small part of a second of the rate, since the partitions that are in sync share the connection; they are read first.

This is beside the throttle that an operator sets (replication/throttle.py). It needs none.
"""

import asyncio

LEAST = 8 << 20  # bytes a second
MOST = 1 << 30
FIRST = 16 << 20
ANSWER_LEAST, ANSWER_MOST = 256 << 10, 2 << 20  # bytes
_ANSWER_SECONDS = 1 / 64  # of the rate
_TICK_SECONDS = 0.05
_LATE_SECONDS = 0.008  # of the loop: its own work holds it for up to 10 ms at times
_SLOW_SECONDS = 0.003  # of a follower, beyond its quickest
_SLOWER, _FASTER = 0.5, 1.1
_FLOOR_RISES = 1.05**_TICK_SECONDS  # a tick
_IDLE_TICKS = 20  # without a byte for so long, nothing is being filled


class FollowerDelay:
    """How long a follower takes from an answer that fills it to its next fetch."""

    __slots__ = ("_quickest", "_sent_at")

    def __init__(self) -> None:
        self._sent_at = 0.0  # 0: no such answer is on its way
        self._quickest = 60.0  # seconds: the network, and a follower with nothing else to do

    def sent(self, now: float) -> None:
        """The first of several counts, as it is the first to bring the follower back."""
        self._sent_at = self._sent_at or now

    def fetched(self, now: float) -> float:
        """Seconds beyond the quickest, if such an answer was sent before."""
        if not self._sent_at:
            return 0.0
        taken, self._sent_at = now - self._sent_at, 0.0
        self._quickest = min(self._quickest * 1.01, taken)  # the network may have become slower for good
        return taken - self._quickest


class RefillPace:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.rate = float(FIRST)
        self._floor = float(LEAST)
        self._allowed = float(ANSWER_LEAST)  # bytes, as of the time beside it
        self._as_of = loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._idle = 0
        self._is_slow = False

    @property
    def _answer(self) -> float:
        return min(max(self.rate * _ANSWER_SECONDS, ANSWER_LEAST), ANSWER_MOST)

    def room(self) -> int:
        """Bytes that may be sent now."""
        now = self._loop.time()
        self._allowed = min(self._allowed + (now - self._as_of) * self.rate, self._answer)
        self._as_of = now
        return int(self._allowed)

    def wait_seconds(self) -> float:
        """Until half an answer may be sent."""
        return max((self._answer / 2 - self._allowed) / self.rate, 0.001)

    def sent(self, size: int, to: FollowerDelay) -> None:
        self._allowed -= size
        self._idle = 0
        to.sent(self._loop.time())
        if self._timer is None:
            self._watch()

    def fetched(self, follower: FollowerDelay) -> None:
        """It comes back for more."""
        if follower.fetched(self._loop.time()) > _SLOW_SECONDS:
            self._is_slow = True

    def _watch(self) -> None:
        self._due = self._loop.time() + _TICK_SECONDS
        self._timer = self._loop.call_at(self._due, self._tick)

    def _tick(self) -> None:
        late = self._loop.time() - self._due > _LATE_SECONDS
        if late or self._is_slow:
            self.rate = max(self.rate * _SLOWER, self._floor)
            if self.rate == self._floor:
                self.rate = self._floor = min(self._floor * _FLOOR_RISES, MOST)
        else:
            self.rate = min(self.rate * _FASTER, MOST)
        self._is_slow = False
        self._idle += 1
        if self._idle < _IDLE_TICKS:
            self._watch()
        else:
            self._timer, self._floor = None, float(LEAST)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

"""Wrong passwords cost time: a second, then twice as long with each one after it, for one user at a cluster.

Tries of one user take turns, so that many at once are no quicker than one after another; whoever knows the password
waits behind those who guess it. All numbers are bounded, and what is told is the same whether the user exists or not.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from barnabas.console.problems import Problem, SignInFirst

FIRST_SECONDS, MOST_SECONDS = 1.0, 30.0
FORGOTTEN_SECONDS = 15 * 60.0
_WAITING_MAX = 4  # of one user
_ALL_WAITING_MAX = 100  # each is an open connection
_USERS_MAX = 10_000


@dataclass(slots=True)
class _User:
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    wrong: int = 0
    at: float = 0.0


class Tries:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._users: dict[tuple[str, str], _User] = {}
        self._waiting = 0

    @asynccontextmanager
    async def turn(self, cluster: str, user: str) -> AsyncIterator[None]:
        """For one try; a SignInFirst that leaves the block was a wrong one, and is held back."""
        known = self._known(cluster, user)
        if known.waiting >= _WAITING_MAX or self._waiting >= _ALL_WAITING_MAX:
            raise Problem("too many wrong passwords at the moment", "Try again in a minute.", 429)
        known.waiting += 1
        self._waiting += 1
        try:
            async with known.turn:
                try:
                    yield
                    known.wrong = 0
                except SignInFirst:
                    await asyncio.sleep(self._delay(known))
                    raise
        finally:
            known.waiting -= 1
            self._waiting -= 1

    def _delay(self, known: _User) -> float:
        now = self._clock()
        if now - known.at > FORGOTTEN_SECONDS:
            known.wrong = 0
        known.at = now
        known.wrong += 1
        return float(min(MOST_SECONDS, FIRST_SECONDS * 2 ** min(known.wrong - 1, 10)))

    def _known(self, cluster: str, user: str) -> _User:
        key = (cluster, user)
        found = self._users.pop(key, None) or _User()
        self._users[key] = found  # the last ones are those tried last
        while len(self._users) > _USERS_MAX:
            oldest = next((name for name, each in self._users.items() if not each.waiting), None)
            if oldest is None:
                break
            del self._users[oldest]
        return found

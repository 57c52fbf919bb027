"""Sessions: a random name in a cookie, and behind it who has signed in at which cluster. In memory only.

A session ends after `IDLE_SECONDS` without a request, and with the console. Credentials are kept as long, because a
connection that breaks has to log in again; they are never written down.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from barnabas.link.sasl import Credentials

IDLE_SECONDS = 8 * 3600.0  # a working day
SESSIONS_MAX = 1_000  # for each of which a browser has shown up within the working day
COOKIE = "barnabas-console"


@dataclass(frozen=True, slots=True)
class Login:
    """How a person is known at a cluster; without credentials the console's own connection is used."""

    user: str
    credentials: Credentials | None = field(default=None, repr=False)
    expires: float = inf  # of the epoch: of a provider's token
    refresh_token: str = field(default="", repr=False)


@dataclass(slots=True)
class Session:
    name: str = field(repr=False)
    csrf: str = field(repr=False)
    used: float
    logins: dict[str, Login] = field(default_factory=dict)  # by cluster
    notice: str = ""  # why signing in at a provider failed; told once

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.csrf.encode())


class Sessions:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: dict[str, Session] = {}

    def begin(self) -> Session:
        """Signing in begins a new one, so that a name somebody planted before is of no use."""
        self._forget_idle()
        while len(self._sessions) >= SESSIONS_MAX:
            self.end(min(self._sessions.values(), key=_worth))
        session = Session(secrets.token_urlsafe(32), secrets.token_urlsafe(32), self._clock())
        self._sessions[session.name] = session
        return session

    def find(self, name: str | None) -> Session | None:
        found = self._sessions.get(name or "")
        if found is None or found.used + IDLE_SECONDS < self._clock():
            return None
        found.used = self._clock()
        return found

    def end(self, session: Session) -> None:
        """Its logins go with it: somebody may still be at the provider for it, or have a request under way."""
        self._sessions.pop(session.name, None)
        session.logins.clear()

    def is_alive(self, session: Session) -> bool:
        return self._sessions.get(session.name) is session and session.used + IDLE_SECONDS >= self._clock()

    def has_login(self, cluster: str, login: Login) -> bool:
        """Whether a session still has this login: else the connection that was made with it is of no use."""
        now = self._clock()
        return any(
            each.logins.get(cluster) == login for each in self._sessions.values() if each.used + IDLE_SECONDS >= now
        )

    def _forget_idle(self) -> None:
        oldest = self._clock() - IDLE_SECONDS
        for each in [each for each in self._sessions.values() if each.used < oldest]:
            self.end(each)


def _worth(session: Session) -> tuple[bool, float]:
    """Visits that nobody has signed in on go first: strangers must not end the sessions of others by many visits."""
    return bool(session.logins), session.used

"""Connections whose TLS handshake or login is not done: a quarter of `max.connections` at most, all listeners together.

Without a limit of their own, strangers who connect and say nothing could hold every place until their time is over
(LOGIN_SECONDS). When there are too many, the one that came first is closed: somebody who logs in takes milliseconds,
and is through before as many others have come.
"""

from collections.abc import Callable

from barnabas.model.limits import PENDING_LOGINS_MIN, PENDING_LOGINS_SHARE


class PendingLogins:
    """`tell` is given a line for the log whenever one had to go."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._most = PENDING_LOGINS_MIN
        self._pending: dict[object, Callable[[], object]] = {}  # how each is closed, in the order they came

    def __len__(self) -> int:
        return len(self._pending)

    def limit(self, connections_max: int) -> None:
        self._most = max(connections_max // PENDING_LOGINS_SHARE, PENDING_LOGINS_MIN)

    def began(self, key: object, close: Callable[[], object]) -> None:
        self._pending[key] = close
        while len(self._pending) > self._most:
            oldest = next(iter(self._pending))
            close_oldest = self._pending.pop(oldest)
            self._tell(f"a connection that has not logged in was closed: more than {self._most} others have not either")
            close_oldest()

    def ended(self, key: object) -> None:
        """It has logged in, or is gone."""
        self._pending.pop(key, None)

"""How long the answer to a failed login is held back: the longer, the more often that address or that user failed.

Kafka answers every failure after the same short delay (KIP-306), which lets a patient stranger try millions of
passwords. Here the delay doubles with each failure in a row, up to some seconds, for the address and for the user
separately, and a login that succeeds forgets them. Both tables are bounded: the one longest quiet is forgotten first.
"""

from collections import OrderedDict
from collections.abc import Callable

from barnabas.model.limits import FAILED_LOGIN_DELAY_MAX_MS, FAILED_LOGINS_REMEMBERED

NAME_CHARS = 64  # of a name that a stranger says, kept and shown; the rest is nobody's
_Counts = OrderedDict[str, tuple[int, float]]  # how many in a row, the last one
_FREE = 3  # failures in a row that cost only the set delay: people mistype
_FORGOTTEN_MS = 600_000


class FailedLogins:
    def __init__(self, now_ms: Callable[[], float]) -> None:
        self._now_ms = now_ms
        self._addresses: _Counts = OrderedDict()
        self._users: _Counts = OrderedDict()
        self.total = 0

    def failed(self, address: str, user: str | None, base_ms: int) -> float:
        """Counts a failure; gives how long its answer waits."""
        self.total += 1
        count = max(self._count(self._addresses, address), self._count(self._users, user[:NAME_CHARS]) if user else 0)
        return min(base_ms * float(1 << max(0, min(count - _FREE, 16))), max(base_ms, FAILED_LOGIN_DELAY_MAX_MS))

    def succeeded(self, address: str, user: str) -> None:
        self._addresses.pop(address, None)
        self._users.pop(user[:NAME_CHARS], None)

    def _count(self, counts: "_Counts", key: str) -> int:
        now = self._now_ms()
        count, last = counts.pop(key, (0, now))
        count = 1 if now - last > _FORGOTTEN_MS else count + 1
        counts[key] = (count, now)
        while len(counts) > FAILED_LOGINS_REMEMBERED:
            counts.popitem(last=False)
        return count

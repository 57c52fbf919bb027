"""What happened, as a hash that grows with every event, and the last of it in words for whoever reads a failure."""

import hashlib
from collections import deque
from collections.abc import Callable

_KEPT_LINES = 4000


class Trace:
    def __init__(self, now: Callable[[], float]) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._now = now
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self.events = 0

    def note(self, text: str) -> None:
        """One line of the story."""
        line = f"{self._now() - 1000:10.4f} {text}"
        self.lines.append(line)
        self._hash.update(line.encode())
        self.events += 1

    def bytes_arrived(self, connection: int, data: bytes) -> None:
        self._hash.update(b"%d %.6f" % (connection, self._now()))
        self._hash.update(data)
        self.events += 1

    def digest(self) -> str:
        return self._hash.hexdigest()

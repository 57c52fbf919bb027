"""What was changed through the console: who, from which address, what, and how it ended.

The cluster's own audit trail has the same change under the person's user, but the console's address. The last ones are
shown in the console; with `audit_file` each is also a line of JSON there.
"""

from __future__ import annotations

import logging
from collections import deque
from pathlib import Path

import msgspec

log = logging.getLogger("barnabas.console")
KEPT = 1_000


class Change(msgspec.Struct, kw_only=True):
    time: float  # of the epoch, in seconds
    user: str
    address: str
    cluster: str
    what: str
    on: str  # path and names; never values or secrets
    outcome: str


class Changes:
    def __init__(self, path: str | None = None) -> None:
        self.last: deque[Change] = deque(maxlen=KEPT)
        self._path = None if path is None else Path(path)

    def add(self, change: Change) -> None:
        self.last.append(change)
        log.info("%s by %r from %s on %r: %r", change.what, change.user, change.address, change.on, change.outcome)
        if self._path is not None:
            try:
                with self._path.open("ab") as file:
                    file.write(msgspec.json.encode(change) + b"\n")
            except OSError as error:
                log.error("the change could not be written to %s: %s", self._path, error.strerror or error)

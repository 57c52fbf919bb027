"""`audit.log.file`: a line of JSON for each event, for those that collect files. Runs in a thread.

It is opened for every batch, so that it may be moved away at any time. When it is too large it is renamed to FILE.1, in
place of the one before.
"""

import os
from pathlib import Path


class AuditFile:
    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self._max_bytes = max_bytes

    def append(self, lines: bytes) -> None:
        try:
            if self.path.stat().st_size >= self._max_bytes:
                self.path.replace(f"{self.path}.1")
        except FileNotFoundError:
            pass
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            file.write(lines)

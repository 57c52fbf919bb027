"""Whether a file or a socket has something to read.

By poll: select() refuses descriptors from 1,024 on, which a process with many connections reaches.
"""

import select
from typing import Protocol


class HasDescriptor(Protocol):
    def fileno(self) -> int: ...


def readable(file: HasDescriptor, wait_s: float = 0.0) -> bool:
    """Waits up to `wait_s` seconds. An end and an error count: reading tells which."""
    poll = select.poll()
    poll.register(file.fileno(), select.POLLIN)
    return bool(poll.poll(max(0.0, wait_s) * 1000))

"""How many segment files a node keeps open: a pool with a ceiling, so that 10,000 partitions do not need 10,000
descriptors.

A segment opens its file at the first read or append and keeps it until the pool, being full, takes it away from the
one not used for longest (second chance: a file used since the last look stays). An evicted file closes once nobody
reads from it and is opened again at the next use. Segments belong to the thread of the event loop, but after a crash
several logs are opened at a time, in threads, so the pool has a lock; whoever uses a descriptor holds its `OpenFile`.

When the process has no descriptor left for another file of the node (an index, a checkpoint), the pool gives some of
its own back (disk.py): sockets may run out, the log does not.
"""

import logging
import resource
import threading
import time
from typing import Protocol

from barnabas.model.limits import SEGMENT_FILES_OPEN_MAX
from barnabas.storage.disk import Disk, OpenFile, gives_back

logger = logging.getLogger(__name__)

_GIVEN_BACK = 16  # files closed when an open fails for want of a descriptor
_SAY_EVERY_SECONDS = 60.0


class Owner(Protocol):
    file: OpenFile | None


class FilePool:
    """Gives files to their owners (`owner.file`) and takes them away again."""

    def __init__(self, maximum: int = SEGMENT_FILES_OPEN_MAX) -> None:
        self._most = maximum
        self.fit()
        self._say_next = 0.0
        self._owners: dict[Owner, None] = {}  # in the order of their turn
        self._lock = threading.Lock()

    def fit(self) -> None:
        """To what the process may open now: two thirds are left to sockets and to files that are open for a moment."""
        soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.maximum = max(1, min(self._most, soft_limit // 3)) if soft_limit > 0 else self._most

    def __len__(self) -> int:
        return len(self._owners)

    def give_back(self) -> bool:
        """The process has no descriptors left: close some of the files that are not in use."""
        with self._lock:
            left = max(len(self._owners) - _GIVEN_BACK, 0)
            some = len(self._owners) > left
            while len(self._owners) > left:
                self._evict()
        now = time.monotonic()
        if some and now >= self._say_next:
            self._say_next = now + _SAY_EVERY_SECONDS
            logger.warning(
                "out of file descriptors: idle segment files are closed to go on. Raise the limit of open files "
                "(ulimit -n, LimitNOFILE of systemd), or let fewer clients connect (max.connections)."
            )
        return some

    def open(self, disk: Disk, owner: Owner, path: str, *, write: bool, create: bool = False) -> OpenFile:
        file = disk.open(path, write=write, create=create)
        with self._lock:
            while len(self._owners) >= self.maximum:
                self._evict()
            owner.file = file
            self._owners[owner] = None
        return file

    def drop(self, owner: Owner) -> None:
        with self._lock:
            self._owners.pop(owner, None)
            owner.file = None

    def _evict(self) -> None:
        owner = next(iter(self._owners))
        del self._owners[owner]
        file = owner.file
        if file is not None and file.recently_used:
            file.recently_used = False
            self._owners[owner] = None
        else:
            owner.file = None


FILES = FilePool()
gives_back(FILES.give_back)

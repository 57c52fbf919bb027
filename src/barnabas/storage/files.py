"""How many segment files a node keeps open: a pool with a ceiling, so that 10,000 partitions do not need 10,000
descriptors.

A segment opens its file at the first read or append and keeps it until the pool, being full, takes it away from the
one not used for longest (second chance: a file used since the last look stays). An evicted file closes once nobody
reads from it and is opened again at the next use. Segments belong to the thread of the event loop, but after a crash
several logs are opened at a time, in threads, so the pool has a lock; whoever uses a descriptor holds its `OpenFile`.
"""

import resource
import threading
from typing import Protocol

from barnabas.model.limits import SEGMENT_FILES_OPEN_MAX
from barnabas.storage.disk import Disk, OpenFile


class Owner(Protocol):
    file: OpenFile | None


class FilePool:
    """Gives files to their owners (`owner.file`) and takes them away again."""

    def __init__(self, maximum: int = SEGMENT_FILES_OPEN_MAX) -> None:
        # Half of what the system allows is left to sockets.
        soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.maximum = max(1, min(maximum, soft_limit // 2)) if soft_limit > 0 else maximum
        self._owners: dict[Owner, None] = {}  # in the order of their turn
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._owners)

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

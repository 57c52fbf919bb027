"""A disk that is full when a test says so."""

import errno
import os
from typing import Any

from barnabas.broker.ground import Ground
from barnabas.storage.disk import Disk


class SmallDisk(Disk):
    """Real files, and no room while `full`."""

    full = False

    def pwrite(self, fd: int, data: Any, position: int) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.pwrite(fd, data, position)

    def space(self, directory: str) -> tuple[int, int]:
        total, free = super().space(directory)
        return total, 0 if self.full else free


class SmallGround(Ground):
    def __init__(self) -> None:
        self.small = self.disk = SmallDisk()

"""A disk that is full when a test says so."""

import errno
import os
from typing import Any

from barnabas.broker.platform import Platform
from barnabas.broker.upkeep.disk_space import RESERVE_FILE
from barnabas.model.limits import METADATA_RESERVE_BYTES
from barnabas.storage.disk import Disk


class SmallDisk(Disk):
    """Real files, and no room while `full`."""

    full = False
    given_back_bytes = 0  # of a file that kept space for the metadata log
    reserve_bytes = METADATA_RESERVE_BYTES  # what that file gives back; 0 as if it had been used up

    def pwrite(self, fd: int, data: Any, position: int) -> int:
        if self.full and len(data) <= self.given_back_bytes:
            self.given_back_bytes -= len(data)
        elif self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.pwrite(fd, data, position)

    def unlink(self, path: str) -> None:
        if self.full and path.endswith(RESERVE_FILE) and self.exists(path):
            self.given_back_bytes += self.reserve_bytes
        super().unlink(path)

    def space(self, directory: str) -> tuple[int, int]:
        total, free = super().space(directory)
        return total, 0 if self.full else free


class SmallGround(Platform):
    def __init__(self) -> None:
        self.small = self.disk = SmallDisk()

"""fsync of a segment does nothing, and says that it did."""

from collections.abc import Callable

from barnabas.sim.bugs.base import Bug
from barnabas.sim.disk import SimDisk


def _make(right: Callable[[SimDisk, str], bool]) -> object:
    def may_sync(self: SimDisk, path: str) -> bool:
        return right(self, path) and not path.endswith(".log")

    return may_sync


BUG = Bug("fsync-skipped", "the fsync of a segment is skipped", SimDisk, "_may_sync", _make)

"""fsync of a segment does nothing, and says that it did."""

from typing import Any

from barnabas.sim.bugs.base import Bug
from barnabas.sim.disk import SimDisk


def _make(right: Any) -> Any:
    return lambda self, path: right(self, path) and not path.endswith(".log")


BUG = Bug("fsync-skipped", "the fsync of a segment is skipped", SimDisk, "_may_sync", _make)

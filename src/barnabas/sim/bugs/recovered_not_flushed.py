"""What recovery found in sealed segments counts as flushed with the next flush, which leaves those segments out.

(The simulator found this one in the node itself.)
"""

from typing import Any

from barnabas.sim.bugs.base import Bug
from barnabas.storage import opening


def _make(right: Any) -> Any:
    def load(log: Any, *args: Any, **kwargs: Any) -> None:
        right(log, *args, **kwargs)
        log.dirty.clear()

    return load


BUG = Bug(
    "recovered-not-flushed",
    "recovered segments are left out of the next flush",
    opening,
    "load",
    _make,
    scenario="page-cache",
)

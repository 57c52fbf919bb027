"""What recovery found in sealed segments counts as flushed with the next flush, which leaves those segments out.

(The simulator found this one in the node itself.)
"""

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from barnabas.sim.bugs.base import Bug
from barnabas.storage import opening
from barnabas.storage.log import Log

P = ParamSpec("P")


def _make(right: Callable[Concatenate[Log, P], None]) -> object:
    def load(log: Log, *args: P.args, **kwargs: P.kwargs) -> None:
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

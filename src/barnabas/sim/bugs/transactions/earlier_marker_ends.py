"""While a leader asks about a transaction, the marker of the transaction before is taken for the end of this one."""

from typing import Protocol

from barnabas.core.partition.producers import Producers
from barnabas.sim.bugs.base import Bug


class _Endings(Protocol):
    def __call__(self, producers: Producers, producer_id: int, /, *, epoch_rises: bool) -> int: ...


def _make(right: _Endings) -> object:
    def endings(self: Producers, producer_id: int, *, epoch_rises: bool) -> int:
        return right(self, producer_id, epoch_rises=False)

    return endings


BUG = Bug(
    "earlier-marker-ends", "a marker of the transaction before ends the next", Producers, "endings", _make, nodes=3
)

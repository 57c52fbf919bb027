"""While a leader asks about a transaction, the marker of the transaction before is taken for the end of this one."""

from typing import Any

from barnabas.core.partition.producers import Producers
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def endings(self: Any, producer_id: int, *, epoch_rises: bool) -> int:
        return int(right(self, producer_id, epoch_rises=False))

    return endings


BUG = Bug(
    "earlier-marker-ends", "a marker of the transaction before ends the next", Producers, "endings", _make, nodes=3
)

"""The offsets of an aborted transaction count as if it had been committed."""

from collections.abc import Callable

from barnabas.core.groups.effects import Effects
from barnabas.core.groups.shard import GroupShard
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[GroupShard, int, bool, int], Effects]) -> object:
    def transaction_ended(self: GroupShard, producer_id: int, commit: bool, now_ms: int) -> Effects:
        return right(self, producer_id, True, now_ms)

    return transaction_ended


BUG = Bug("aborted-offsets-count", "offsets of an aborted transaction count", GroupShard, "transaction_ended", _make)

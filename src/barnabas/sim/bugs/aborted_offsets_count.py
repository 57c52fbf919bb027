"""The offsets of an aborted transaction count as if it had been committed."""

from typing import Any

from barnabas.core.groups.shard import GroupShard
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    return lambda self, producer_id, commit, now_ms: right(self, producer_id, True, now_ms)


BUG = Bug("aborted-offsets-count", "offsets of an aborted transaction count", GroupShard, "transaction_ended", _make)

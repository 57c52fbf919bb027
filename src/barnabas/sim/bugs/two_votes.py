"""A voter grants a second vote in the same epoch to whoever asks later."""

from typing import Any

from barnabas.core.raft import elections
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def may_grant(q: Any, request: Any, candidate: Any) -> bool:
        own = q.log.flushed_end
        return (request.last_offset_epoch, request.last_offset) >= (own.epoch, own.offset)

    return may_grant


BUG = Bug("two-votes", "a voter votes twice in one epoch", elections, "may_grant", _make, nodes=3)

"""A voter grants a second vote in the same epoch to whoever asks later."""

from barnabas.core.raft import elections
from barnabas.core.raft.messages import VoteRequest
from barnabas.core.raft.quorum import Quorum
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def may_grant(q: Quorum, request: VoteRequest, candidate: object) -> bool:
        own = q.log.flushed_end
        return (request.last_offset_epoch, request.last_offset) >= (own.epoch, own.offset)

    return may_grant


BUG = Bug("two-votes", "a voter votes twice in one epoch", elections, "may_grant", _make, nodes=3)

"""The short way of a small Produce does not ask whether the principal may write to the topic."""

from barnabas.broker.access import Access
from barnabas.broker.network.session import Session
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def may_write(self: Access, session: Session, topic: str) -> bool:
        return True

    return may_write


BUG = Bug(
    "write-unchecked",
    "a producer is not asked for its rights",
    Access,
    "may_write",
    _make,
    nodes=3,
    scenario="strangers",
)

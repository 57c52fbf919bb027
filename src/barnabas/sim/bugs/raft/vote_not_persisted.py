"""A vote leaves before it is on disk: after a restart the same voter may vote for another in the same epoch."""

from barnabas.broker.quorum import driver
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def write_state(*_: object) -> None:
        """Forgotten."""

    return write_state


BUG = Bug("vote-not-persisted", "votes and epochs are not written down", driver, "write_state", _make, nodes=3)

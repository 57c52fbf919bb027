"""A follower whose log parted from its leader's goes on behind its own end, and keeps what nobody else has."""

from barnabas.broker.fetch import follower_reader
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def diverging_epoch(*_: object) -> None:
        """Never."""

    return diverging_epoch


BUG = Bug("never-cut", "diverging epochs are not looked for", follower_reader, "diverging_epoch", _make, nodes=3)

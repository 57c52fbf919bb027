"""A parked fetch whose client has gone stays on its partitions."""

from barnabas.broker.fetch.parked import ParkedFetch
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def leave(self: ParkedFetch, _: object = None) -> None:
        self._timer.cancel()

    return leave


BUG = Bug("waiter-leaks", "a parked fetch stays on its partitions", ParkedFetch, "_leave", _make)

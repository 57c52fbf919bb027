"""A parked fetch whose client has gone stays on its partitions."""

from typing import Any

from barnabas.broker.fetch.parked import ParkedFetch
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def leave(self: Any, _: object = None) -> None:
        self._timer.cancel()

    return leave


BUG = Bug("waiter-leaks", "a parked fetch stays on its partitions", ParkedFetch, "_leave", _make)

"""After a restart nothing is known of the producers: a batch that was written and not acknowledged is taken again."""

from typing import Any

from barnabas.broker.partition.partition import HostedPartition
from barnabas.core.partition.producers import Producers
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def open(self: Any) -> None:
        right(self)
        self.producers = self.state.producers = Producers()

    return open


BUG = Bug("sequences-forgotten", "producers' sequences are not restored at a start", HostedPartition, "open", _make)

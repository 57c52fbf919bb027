"""After a restart nothing is known of the producers: a batch that was written and not acknowledged is taken again."""

from collections.abc import Callable

from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.slow_openings import Reading
from barnabas.core.partition.producers import Producers
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[HostedPartition, Reading], OpenPartition]) -> object:
    def adopt(self: HostedPartition, reading: Reading) -> OpenPartition:
        opened = right(self, reading)
        opened.producers = opened.state.producers = Producers()
        return opened

    return adopt


BUG = Bug("sequences-forgotten", "producers' sequences are not restored at a start", HostedPartition, "_adopt", _make)

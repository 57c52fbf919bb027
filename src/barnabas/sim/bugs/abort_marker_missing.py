"""An aborted transaction gets no marker; its coordinator believes that it has."""

from typing import Any

from barnabas.broker.coordinator.markers import MarkerSender
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def write(self: Any, partition: Any, marker: Any) -> Any:
        if marker.commit:
            return right(self, partition, marker)
        leader = self._partitions.get(*partition)
        return leader, leader.high_watermark

    return write


BUG = Bug("abort-marker-missing", "abort markers are not written", MarkerSender, "write", _make)

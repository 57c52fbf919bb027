"""An aborted transaction gets no marker; its coordinator believes that it has."""

from collections.abc import Callable

from barnabas.broker.coordinator.markers import MarkerSender
from barnabas.broker.partition.opened import OpenPartition
from barnabas.core.partition.producers import Marker
from barnabas.model.ids import TopicPartition
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[MarkerSender, TopicPartition, Marker], tuple[OpenPartition, int]]) -> object:
    def write(self: MarkerSender, partition: TopicPartition, marker: Marker) -> tuple[OpenPartition, int]:
        hosted = self._partitions.get(*partition)
        if marker.commit or hosted is None:
            return right(self, partition, marker)
        leader = hosted.open()
        return leader, leader.high_watermark

    return write


BUG = Bug("abort-marker-missing", "abort markers are not written", MarkerSender, "write", _make)

"""Whoever is elected takes everything in its log for committed, also what nobody else has."""

from collections.abc import Callable

from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[HostedPartition, OpenPartition], None]) -> object:
    def begin_epoch(self: HostedPartition, opened: OpenPartition) -> None:
        opened.high_watermark = opened.log.log_end_offset
        right(self, opened)

    return begin_epoch


BUG = Bug(
    "new-leader-commits-all",
    "a new leader's high watermark is the end of its log",
    HostedPartition,
    "_begin_epoch",
    _make,
    nodes=3,
    scenario="late-leaders",
)

"""Whoever is elected takes everything in its log for committed, also what nobody else has."""

from typing import Any

from barnabas.broker.partition.partition import HostedPartition
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def begin_epoch(self: Any) -> None:
        self.high_watermark = self.log.log_end_offset
        right(self)

    return begin_epoch


BUG = Bug(
    "new-leader-commits-all",
    "a new leader's high watermark is the end of its log",
    HostedPartition,
    "_begin_epoch",
    _make,
    nodes=3,
)

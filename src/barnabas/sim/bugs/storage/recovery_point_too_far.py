"""The recovery point that is written down is the end of the log, flushed or not."""

from collections.abc import Callable

from barnabas.broker.partition.table import PartitionTable
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[PartitionTable], Callable[[], None]]) -> object:
    def collect_checkpoint(self: PartitionTable) -> Callable[[], None]:
        for partition in self.open_ones():
            partition.log.recovery_point = partition.log.log_end_offset
        return right(self)

    return collect_checkpoint


BUG = Bug(
    "recovery-point-too-far",
    "the recovery point passes the flush",
    PartitionTable,
    "collect_checkpoint",
    _make,
    scenario="page-cache",
)

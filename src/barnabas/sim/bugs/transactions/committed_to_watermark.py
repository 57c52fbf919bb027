"""read_committed is served up to the high watermark, open transactions included."""

from barnabas.broker.partition.opened import OpenPartition
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def last_stable_offset(self: OpenPartition) -> int:
        return self.high_watermark

    return property(last_stable_offset)


BUG = Bug(
    "committed-to-watermark", "read_committed reads up to the watermark", OpenPartition, "last_stable_offset", _make
)

"""read_committed is served up to the high watermark, open transactions included."""

from typing import Any

from barnabas.broker.partition.partition import HostedPartition
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    return property(lambda self: self.high_watermark)


BUG = Bug(
    "committed-to-watermark", "read_committed reads up to the watermark", HostedPartition, "last_stable_offset", _make
)

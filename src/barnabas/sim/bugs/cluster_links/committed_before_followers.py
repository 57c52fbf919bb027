"""What a link has appended counts as committed before the followers have it."""

from collections.abc import Callable

from barnabas.broker.cluster_links import linked_log
from barnabas.broker.partition.opened import OpenPartition
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[OpenPartition, memoryview], int]) -> object:
    def append(opened: OpenPartition, records: memoryview) -> int:
        size = right(opened, records)
        end = opened.log.log_end_offset
        if end > opened.high_watermark:
            opened.advance_to(end, size)
        return size

    return append


BUG = Bug(
    "link-commits-alone",
    "what a link appended is committed before the followers have it",
    linked_log,
    "append",
    _make,
    nodes=6,
    scenario="linked",
)

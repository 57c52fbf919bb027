"""Records that were deleted at the source stay at the target."""

from barnabas.broker.cluster_links import linked_log
from barnabas.broker.partition.opened import OpenPartition
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def follow_start(opened: OpenPartition, source_start: int) -> None:
        """Never."""

    return follow_start


BUG = Bug(
    "link-start-not-followed",
    "records deleted at the source stay at the target",
    linked_log,
    "follow_start",
    _make,
    nodes=6,
    scenario="linked",
)

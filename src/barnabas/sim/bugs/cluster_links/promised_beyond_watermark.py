"""A link says that it has what its leader's log has, though followers do not have it yet and a failover may take it."""

from barnabas.broker.cluster_links.linked import Linked
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def end_offset(self: Linked) -> int:
        opened = self.partition.opened
        return 0 if opened is None else opened.log.log_end_offset

    return property(end_offset)


BUG = Bug(
    "promised-beyond-watermark",
    "promote counts on records that followers do not have",
    Linked,
    "end_offset",
    _make,
    nodes=6,
    scenario="linked",
)

"""What a former source has to cut off is not copied to a file before."""

from barnabas.broker.cluster_links import linked_log
from barnabas.sim.bugs.base import Bug
from barnabas.storage.log import Log


def _make(right: object) -> object:
    def save_cut(own: Log, partition: str, offset: int) -> str:
        return ""

    return save_cut


BUG = Bug(
    "cut-not-kept",
    "what a reverse cuts off is not kept",
    linked_log,
    "save_cut",
    _make,
    nodes=6,
    scenario="linked",
)

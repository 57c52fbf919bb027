"""A linked topic begins with the leader epoch after the source's, not in a block of its own: soon both clusters give
out the same epochs for different records."""

from barnabas.broker.cluster_links import topics
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def epoch_block_above(newest: int) -> int:
        return newest + 1

    return epoch_block_above


BUG = Bug(
    "link-epochs-not-above",
    "the target's leader epochs follow the source's at once",
    topics,
    "epoch_block_above",
    _make,
    nodes=6,
    scenario="linked",
)

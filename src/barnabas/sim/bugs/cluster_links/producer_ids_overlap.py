"""Both clusters hand out producer ids from zero: a new producer of the target has the sequences of another one."""

from barnabas.core.cluster import links
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.records import Record
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def own_producer_ids(image: MetadataImage, seed: str) -> list[Record]:
        return []

    return own_producer_ids


BUG = Bug(
    "link-producer-ids-overlap",
    "both clusters hand out the same producer ids",
    links,
    "_own_producer_ids",
    _make,
    nodes=6,
    scenario="linked",
)

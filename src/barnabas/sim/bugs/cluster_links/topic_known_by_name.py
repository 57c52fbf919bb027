"""A topic that was deleted at the source and made anew is taken for the one before."""

from collections.abc import Callable

from barnabas.broker.cluster_links.linked import Linked
from barnabas.broker.cluster_links.running import RunningLink
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[RunningLink, Linked], None]) -> object:
    def place(self: RunningLink, linked: Linked) -> None:
        known = self.nodes.view.topic_id(linked.partition.id.topic)
        if known:
            linked.source_topic_id = known
        right(self, linked)

    return place


BUG = Bug(
    "link-topic-by-name",
    "a topic made anew at the source is taken for the old one",
    RunningLink,
    "_place",
    _make,
    nodes=6,
    scenario="linked",
)

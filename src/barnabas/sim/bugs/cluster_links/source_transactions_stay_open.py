"""Nobody ends the transactions that the source had open when a topic was promoted."""

from barnabas.broker.cluster_links.driver import ClusterLinks
from barnabas.broker.partition.partition import HostedPartition
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def end_foreign_transactions(self: ClusterLinks, partition: HostedPartition) -> None:
        """Never."""

    return end_foreign_transactions


BUG = Bug(
    "source-transactions-stay-open",
    "open transactions of the source are not aborted after a promotion",
    ClusterLinks,
    "_end_foreign_transactions",
    _make,
    nodes=6,
    scenario="linked",
)

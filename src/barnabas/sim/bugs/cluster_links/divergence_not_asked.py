"""A link does not say by which epoch its last record is, so the source cannot tell it that the logs have parted."""

from collections.abc import Callable

from barnabas.broker.cluster_links.fetcher import LinkFetcher
from barnabas.broker.replication.followed import Followed, Key
from barnabas.sim.bugs.base import Bug
from barnabas.wire.fetch.request import Wanted


def _make(right: Callable[[LinkFetcher, Key, Followed], Wanted | None]) -> object:
    def wanted(self: LinkFetcher, key: Key, followed: Followed) -> Wanted | None:
        found = right(self, key, followed)
        return found._replace(last_fetched_epoch=-1) if found is not None else None

    return wanted


BUG = Bug(
    "link-divergence-not-asked",
    "a link does not ask whether the logs diverge",
    LinkFetcher,
    "_wanted",
    _make,
    nodes=6,
    scenario="linked",
)

"""Links from other clusters, of the partitions that this node leads: how far they are behind, and what fails."""

from collections.abc import Iterable, Iterator

from barnabas.broker.cluster_links.driver import ClusterLinks
from barnabas.broker.cluster_links.linked import Linked
from barnabas.broker.metrics.exposition import family, labels

_AT_ONCE = 1_000  # partitions between two looks at the clock


class _Sums:
    """Over the partitions of one link."""

    def __init__(self) -> None:
        self.partitions = self.lag = self.failing = self.bytes_in = self.skipped = 0
        self.caught_up_ms: int | None = None  # of the partition that is furthest behind; None: none is

    def add(self, linked: Linked) -> None:
        self.partitions += 1
        self.failing += bool(linked.error)
        self.bytes_in += linked.bytes_in
        self.skipped += linked.skipped
        behind = linked.source_end - linked.end_offset
        if behind > 0:
            self.lag += behind
            if linked.caught_up_ms >= 0:
                known = self.caught_up_ms
                self.caught_up_ms = linked.caught_up_ms if known is None else min(known, linked.caught_up_ms)


def collect(links: ClusterLinks, now_ms: int) -> Iterator[str]:
    found: dict[str, _Sums] = {}
    for name, link in links.running.items():
        sums = found[name] = _Sums()
        for position, linked in enumerate(list(link.linked.values()), 1):
            sums.add(linked)
            if not position % _AT_ONCE:
                yield ""
    if not found and not links.unusable:
        return
    up = {name: int(not link.error) for name, link in links.running.items()} | dict.fromkeys(links.unusable, 0)
    yield _series("up", up.items())
    yield _series("partitions", ((name, sums.partitions) for name, sums in found.items()))
    yield _series("failing_partitions", ((name, sums.failing) for name, sums in found.items()))
    yield _series("lag_records", ((name, sums.lag) for name, sums in found.items()))
    yield _series("lag_seconds", ((name, _seconds(sums, now_ms)) for name, sums in found.items()))
    yield _series("bytes_in_total", ((name, sums.bytes_in) for name, sums in found.items()))
    yield _series("records_skipped_total", ((name, sums.skipped) for name, sums in found.items()))


def _seconds(sums: _Sums, now_ms: int) -> float:
    return 0.0 if sums.caught_up_ms is None else max(now_ms - sums.caught_up_ms, 0) / 1000


def _series(name: str, values: Iterable[tuple[str, float]]) -> str:
    return family(f"barnabas_link_{name}", [(labels(link=link), value) for link, value in values])

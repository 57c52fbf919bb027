"""A cluster of three for the tests that leave it as they found it, and clusters of one's own for those that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cluster import BarnabasCluster
from tests.support.nodes_security import NodesSecurity

FAST = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
}


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[Callable[..., BarnabasCluster]]:
    made: list[BarnabasCluster] = []

    def make(
        count: int = 3,
        linked: bool = False,
        secured: Callable[[Path], NodesSecurity] | None = None,
        zones: str = "",
        **settings: str,
    ) -> BarnabasCluster:
        """`zones`: a letter for each node."""
        given = {name.replace("_", "."): value for name, value in settings.items()}
        folder = tmp_path / f"cluster-{len(made)}"
        security = None if secured is None else secured(folder / "secure")
        places = dict(enumerate(zones, 1))
        cluster = BarnabasCluster(folder, len(zones) or count, {**FAST, **given}, linked, security, places)
        made.append(cluster)
        cluster.start()
        return cluster

    yield make
    for cluster in made:
        cluster.stop()


@pytest.fixture
def cluster(make_cluster: Callable[..., BarnabasCluster]) -> BarnabasCluster:
    return make_cluster()


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasCluster]:
    """Shared: whoever uses it starts again what it has stopped."""
    cluster = BarnabasCluster(tmp_path_factory.mktemp("calm"), 3, FAST | {"racks": "yes"})
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()

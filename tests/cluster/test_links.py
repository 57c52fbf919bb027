"""The network between the nodes breaks while clients reach them all: whoever is alone acknowledges nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.company import Company
from tests.cluster.network_faults import NETWORK_FAULTS
from tests.cluster.whole import Footprint, await_whole, check_whole
from tests.support.cluster import BarnabasCluster
from tests.support.figures import Figure

pytestmark = [pytest.mark.timeout(300), pytest.mark.long]
ROUNDS = 2
BEYOND_EVERY_TIMEOUT_SECONDS = 8.0
ONE_IS_CUT_OFF = [name for name in NETWORK_FAULTS if name != "halves"]  # which is the same with three


def _suffer(cluster: BarnabasCluster, company: Company, name: str, figure: Figure) -> None:
    assert cluster.links is not None
    before = Footprint(cluster)
    for _ in range(ROUNDS):
        company.await_more()
        NETWORK_FAULTS[name](cluster.links, cluster)
        time.sleep(BEYOND_EVERY_TIMEOUT_SECONDS)
        if name != "slow":
            company.await_more(30)  # a majority is well
        cluster.links.heal()
        await_whole(cluster)
    company.await_more()
    told = company.check()
    figure("links", acknowledged=company.acknowledged)
    print(f"\n{name}, {ROUNDS} times: {told}; {check_whole(cluster)}; {before.check()}")


@pytest.mark.parametrize("name", ONE_IS_CUT_OFF)
def test_three_nodes(make_cluster: Callable[..., BarnabasCluster], tmp_path: Path, name: str, figure: Figure) -> None:
    cluster = make_cluster(linked=True)
    company = Company(cluster, tmp_path, java=False)
    try:
        _suffer(cluster, company, name, figure)
    finally:
        company.end()


@pytest.mark.parametrize("name", ["halves", "bridge", "leader unheard"])
def test_five_nodes(make_cluster: Callable[..., BarnabasCluster], tmp_path: Path, name: str, figure: Figure) -> None:
    """With five replicas, so that the larger side has enough of them to go on."""
    cluster = make_cluster(5, linked=True)
    company = Company(cluster, tmp_path, replicas=5)
    try:
        _suffer(cluster, company, name, figure)
    finally:
        company.end()

"""Every fault that real processes can be given, one after the other in an order drawn by a seed, under one load of
librdkafka's and Java's clients; then everything that can be seen from outside is looked at.

BARNABAS_SEED=7 draws another order.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.company import Company
from tests.cluster.network_faults import NETWORK_FAULTS
from tests.cluster.node_faults import BEYOND_EVERY_TIMEOUT_SECONDS, NODE_FAULTS
from tests.cluster.whole import Footprint, await_whole, check_whole
from tests.support.cluster import BarnabasCluster
from tests.support.figures import Figure

pytestmark = [pytest.mark.timeout(1200), pytest.mark.long]
SEED = int(os.environ.get("BARNABAS_SEED", "5"))


@pytest.mark.parametrize("count", [3, 5])
def test_one_fault_after_the_other(
    make_cluster: Callable[..., BarnabasCluster], tmp_path: Path, count: int, figure: Figure
) -> None:
    rng = random.Random(SEED)
    cluster = make_cluster(count, linked=True, log_verify_interval_ms="1000")
    company = Company(cluster, tmp_path, internal_segment_bytes="200000")
    faults = [*NODE_FAULTS, *NETWORK_FAULTS]
    rng.shuffle(faults)
    try:
        company.await_more()
        before = Footprint(cluster)
        for name in faults:
            print(f"{name} ...", flush=True)
            _strike(cluster, name, rng)
            await_whole(cluster)
            company.await_more()
        told = company.check()
        whole, kept = check_whole(cluster), before.check()
    finally:
        company.end()
    figure(f"matrix-{count}", acknowledged=company.acknowledged, faults=len(faults))
    print(f"{count} nodes, {len(faults)} faults, seed {SEED}: {told}; {whole}; {kept}")


def _strike(cluster: BarnabasCluster, name: str, rng: random.Random) -> None:
    if name in NODE_FAULTS:
        NODE_FAULTS[name](cluster, rng)
        return
    assert cluster.links is not None
    NETWORK_FAULTS[name](cluster.links, cluster)
    time.sleep(BEYOND_EVERY_TIMEOUT_SECONDS)
    cluster.links.heal()

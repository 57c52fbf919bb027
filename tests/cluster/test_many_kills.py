"""The leader of five nodes is killed again and again, while Java's clients and librdkafka's go on."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.company import TOPIC, Company
from tests.cluster.whole import Footprint, await_whole, check_whole
from tests.support.cluster import BarnabasCluster
from tests.support.figures import Figure

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]
KILLS = 20


def test_leaders_of_five_nodes(make_cluster: Callable[..., BarnabasCluster], tmp_path: Path, figure: Figure) -> None:
    cluster = make_cluster(5)
    company = Company(cluster, tmp_path)
    gaps = []
    try:
        company.await_more()
        before = Footprint(cluster)
        for _ in range(KILLS):
            victim = cluster.leader(TOPIC)
            cluster.kill(victim)
            killed = time.monotonic()
            company.writer.await_partition(0, killed, 30)
            gaps.append(company.writer.gap(0, killed))
            cluster.start(victim)
            await_whole(cluster)
            company.await_more(100)
        told = company.check()
        whole, kept = check_whole(cluster), before.check()
    finally:
        company.end()
    figure("many-kills", acknowledged=company.acknowledged, median_s=statistics.median(gaps), worst_s=max(gaps))
    print(f"\n{KILLS} leaders of five nodes killed: {told}; {whole}; {kept}; ", end="")
    print(f"writing again p50 {statistics.median(gaps):.2f} s, worst {max(gaps):.2f} s")

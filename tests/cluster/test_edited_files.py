"""Files that are not what they were when a node starts again: found, never served, and mended from the others while
clients go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.company import TOPIC, Company
from tests.cluster.edits import EDITS
from tests.cluster.whole import await_whole, check_whole
from tests.support.cluster import BarnabasCluster
from tests.support.figures import Figure

pytestmark = [pytest.mark.timeout(300), pytest.mark.long]


@pytest.mark.parametrize("ended", ["killed", "stopped"])
@pytest.mark.parametrize("name", EDITS)
def test_of_the_leader(
    make_cluster: Callable[..., BarnabasCluster], tmp_path: Path, name: str, ended: str, figure: Figure
) -> None:
    cluster = make_cluster(log_verify_interval_ms="1000")
    company = Company(cluster, tmp_path, per_second=1000, java=False, internal_segment_bytes="20000")
    try:
        company.await_more(3000)
        victim = cluster.leader(TOPIC)
        if ended == "killed":
            cluster.kill(victim)
        else:
            cluster.stop_one(victim)
        EDITS[name](cluster.nodes[victim].data, f"{TOPIC}-0")
        company.await_more()
        cluster.start(victim)
        await_whole(cluster)
        company.await_more()
        told = company.check()
        whole = check_whole(cluster)
    finally:
        company.end()
    figure("edited-files", acknowledged=company.acknowledged)
    print(f"\n{name}, {ended}: {told}; {whole}")

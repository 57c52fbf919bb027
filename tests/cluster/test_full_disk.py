"""A node whose disk fills up: the others go on, and it comes back when there is room again."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.company import Company
from tests.cluster.whole import await_whole, check_replicas
from tests.support.cluster import CHAOS, BarnabasCluster

pytestmark = [pytest.mark.timeout(300), pytest.mark.skipif(not CHAOS, reason="a long one: make chaos")]
VICTIM = 2
SMALL_BYTES = 64 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A tmpfs where node 2 of the first cluster will have its data."""
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    place = tmp_path / "cluster-0" / f"node-{VICTIM}" / "data"
    place.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "tmpfs", str(place)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def _fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(bytes(4096))
    return filler


def test_a_full_disk(small_disk: Path, make_cluster: Callable[..., BarnabasCluster], tmp_path: Path) -> None:
    cluster = make_cluster()
    company = Company(cluster, tmp_path)
    try:
        for turn in range(2):
            company.await_more()
            filler = _fill(small_disk)
            time.sleep(8)
            company.await_more(200)  # every partition: what it led is led by others
            alive = cluster.nodes[VICTIM].alive()
            filler.unlink()
            if turn or not alive:  # once it has to find back by itself, if it is there
                cluster.kill(VICTIM)
                cluster.start(VICTIM)
            await_whole(cluster)
        company.await_more()
        told = company.check()
        compared = check_replicas(cluster)
    finally:
        company.end()
    stayed = "stayed up" if alive else "had stopped"
    print(f"\na full disk, twice: {told}; {compared >> 10} KiB of replicas identical; the node {stayed}")

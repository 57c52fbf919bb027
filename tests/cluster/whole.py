"""A cluster is whole: every partition led and fully in sync, its replicas the same to the byte, nothing in a node's
log that a person would have to look into, no more files open than before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.cluster import BarnabasCluster

_MEMORY_SLACK_BYTES = 96 << 20
_FILES_SLACK = 64  # connections of clients come and go


def everything(cluster: BarnabasCluster) -> dict[tuple[str, int], dict[str, Any]]:
    """Every partition as the first node sees it."""
    topics = cluster.metadata(cluster.up[0])["topics"]
    return {(topic["name"], part["partition_index"]): part for topic in topics for part in topic["partitions"]}


def await_whole(cluster: BarnabasCluster, seconds: float = 60) -> None:
    """Until all nodes are up for all nodes, and every partition is led and fully in sync for all of them."""
    cluster.await_brokers(set(cluster.nodes), seconds)

    def whole() -> bool:
        lacking = [
            f"node {number} sees {topic['name']}-{part['partition_index']} led by {part['leader_id']} in epoch"
            f" {part['leader_epoch']}, {part['isr_nodes']} of {part['replica_nodes']} in sync"
            for number in cluster.up
            for topic in cluster.metadata(number)["topics"]
            for part in topic["partitions"]
            if part["leader_id"] <= 0 or sorted(part["isr_nodes"]) != sorted(part["replica_nodes"])
        ]
        assert not lacking, "\n".join(lacking)
        return True

    cluster.until(whole, "every partition is led and fully in sync", seconds)


def check_replicas(cluster: BarnabasCluster, seconds: float = 30) -> int:
    """Nobody writes any more: the logs of all replicas end up the same. Gives how many bytes were compared."""
    compared = 0
    for (topic, index), part in everything(cluster).items():
        folders = {number: cluster.folder_of(number, topic, index) for number in part["replica_nodes"]}
        cluster.until(
            lambda: len({log_bytes(folder) for folder in folders.values()}) == 1,  # noqa: B023
            f"the replicas of {topic}-{index} are byte-identical",
            seconds,
        )
        leader = folders[part["leader_id"]]
        compared += len(log_bytes(leader)) * len(folders)
        _verify(leader)
    return compared


def log_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


def _verify(folder: Path) -> None:
    """Every checksum, record and index entry, by the tool that ships."""
    if not any(folder.glob("*.log")):
        return  # never written to
    done = subprocess.run(
        [sys.executable, "-m", "barnabas.cli.main", "log", "dump", str(folder), "--verify"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{folder}\n{done.stdout[-2000:]}\n{done.stderr}"


def check_logs(cluster: BarnabasCluster) -> None:
    for number, node in cluster.nodes.items():
        text = node.log_path.read_text(errors="replace")
        assert "Traceback" not in text, f"node {number}:\n{text[max(0, text.index('Traceback') - 2000) :][:6000]}"


def check_whole(cluster: BarnabasCluster) -> str:
    """Everything that can be seen once nobody writes any more."""
    compared = check_replicas(cluster)
    check_logs(cluster)
    return f"{compared >> 10} KiB of replicas identical"


class Footprint:
    """What the nodes use, to be compared with later: processes that were started anew count as well."""

    def __init__(self, cluster: BarnabasCluster) -> None:
        self.cluster = cluster
        self.files = max(cluster.nodes[number].open_files() for number in cluster.up)
        self.memory = max(cluster.nodes[number].rss_bytes() for number in cluster.up)

    def check(self) -> str:
        now = Footprint(self.cluster)
        files, memory = self.files + _FILES_SLACK, self.memory + _MEMORY_SLACK_BYTES
        assert now.files <= files, f"{now.files} files open in a node, {self.files} before"
        assert now.memory <= memory, f"{now.memory >> 20} MiB in a node, {self.memory >> 20} before"
        return f"files {self.files} -> {now.files}, MiB {self.memory >> 20} -> {now.memory >> 20} (the largest node)"

"""A node that joins a cluster of this process: it becomes a voter, is drained, and a folder that is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas import Admin
from barnabas.testing import RunningCluster, RunningNode, running_cluster, running_node
from tests.support.members import until
from tests.unit.cli.typed import Typed

SETTINGS = {"offsets.topic.num.partitions": 1, "default.replication.factor": 1, "offsets.topic.replication.factor": 1}


def test_a_node_joins_votes_is_drained_and_leaves(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_cluster(3, SETTINGS) as cluster:
        monkeypatch.setenv("BARNABAS_BOOTSTRAP", cluster.bootstrap)
        joining = {"node.id": 4, "controller.quorum.bootstrap.servers": cluster.bootstrap, **SETTINGS}
        fourth = RunningNode(tmp_path / "node-4", joining).start()
        try:
            _joins_and_leaves(typed, cluster)
        finally:
            fourth.stop()


def _joins_and_leaves(typed: Typed, cluster: RunningCluster) -> None:
    def role() -> str:
        found = typed("cluster", "voters", "--json").json()["replicas"]
        return next((each["role"] for each in found if each["id"] == 4), "")

    until(lambda: role() == "observer", "it follows")
    said = typed("cluster", "voters", "--add", 4)
    assert said.code == 0 and said.lines()[0] == "node 4 is a voter now" and role() in ("voter", "leader")
    said = typed("cluster", "voters", "--remove", 4, "--yes")
    assert said.code == 0 and "node 4 is no voter now" in said.out and role() == "observer"
    assert "warning" not in said.err, "three are left"
    led = typed("cluster", "voters", "--json").json()["leader"]
    left = sorted({1, 2, 3} - {led})
    said = typed("cluster", "voters", "--remove", led, "--yes")
    assert said.code == 0 and f"controller.quorum.voters of node {led} names it" in said.err
    assert f"the quorum has 2 voters, nodes {left[0]} and {left[1]}, left" in said.err
    assert "barnabas cluster voters --add 4" in said.err
    with Admin(cluster.bootstrap) as admin:
        admin.create_topic("spread", partitions=4, replication=1)
    said = typed("cluster", "voters", "--add", led)
    assert said.code == 0, f"the new leader hears of it after a moment: {said.err}"
    said = typed("cluster", "drain", led, "--yes", "--promote", 4)
    assert said.code == 0, said.err
    assert said.lines()[-1] == f"node {led} is empty and no member of the cluster any more: stop it now"
    assert typed("cluster", "voters", "--json").json()["leader"] in (*left, 4)
    found = typed("cluster", "voters", "--json").json()["replicas"]
    assert {each["id"] for each in found if each["role"] != "observer"} == {*left, 4}


def test_a_folder_without_its_quorum_becomes_a_cluster_of_its_own(typed: Typed, tmp_path: Path) -> None:
    with running_cluster(3, SETTINGS, data_dir=tmp_path) as cluster, Admin(cluster.bootstrap) as admin:
        admin.create_topic("kept", partitions=1, replication=3)
    folder = tmp_path / "node-2"
    said = typed("cluster", "recover", folder)
    assert said.code == 2 and "Make node 2 the only voter? Nobody is here to answer." in said.err
    assert "warning: what only nodes 1, 3 had is lost" in said.err
    said = typed("cluster", "recover", folder, "--yes")
    assert said.code == 0 and said.lines()[0].startswith("node 2 is the only voter now, of the new cluster ")
    with running_node({"node.id": 2}, data_dir=folder) as alone, Admin(alone.bootstrap) as admin:
        until(lambda: admin.describe_topic("kept").partitions[0].leader == 2, "it leads what it has")


def test_a_folder_that_is_none_or_in_use(typed: Typed, tmp_path: Path) -> None:
    said = typed("cluster", "recover", tmp_path / "nothing", "--yes")
    assert said.code == 1 and said.err.count("\n") == 1
    with running_node(data_dir=tmp_path / "alone"):
        pass
    said = typed("cluster", "recover", tmp_path / "alone", "--json")
    assert said.json() == {"node": 1, "recovered": False}, "it is a cluster of its own"
    with running_node(data_dir=tmp_path / "busy"):
        said = typed("cluster", "recover", tmp_path / "busy", "--yes")
    assert said.code == 1 and said.err.count("\n") == 1 and str(tmp_path / "busy") in said.err

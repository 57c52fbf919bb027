"""`barnabas cluster voters` on a real cluster: a fourth node gets a vote, others lose theirs, the leader too."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.support.cluster import BarnabasCluster
from tests.support.members import until

pytestmark = pytest.mark.timeout(120)


def voters(cluster: BarnabasCluster, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "barnabas.cli.main", "cluster", "voters", *words, "-b", cluster.bootstrap]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, f"{words}\n{done.stdout}\n{done.stderr}"
    return done


def roles(cluster: BarnabasCluster) -> dict[int, str]:
    return {each["id"]: each["role"] for each in listed(cluster)["replicas"]}


def listed(cluster: BarnabasCluster) -> Any:
    return json.loads(voters(cluster, "--json").stdout)


def test_voters_are_added_and_removed(cluster: BarnabasCluster) -> None:
    cluster.add(4)
    cluster.add(5, {"process.roles": "broker"})
    until(lambda: roles(cluster).get(5) == "observer", "both newcomers follow")
    assert roles(cluster)[4] == "observer"
    assert sorted(roles(cluster).values()) == ["leader", "observer", "observer", "voter", "voter"]
    assert (
        "node 5 is a broker only. Give it process.roles=broker,controller"
        in voters(cluster, "--add", "5", code=1).stderr
    )
    assert (
        "node 9 does not follow the quorum. Start it first. Observers now: 4, 5."
        in voters(cluster, "--add", "9", code=1).stderr
    )
    drain = [sys.executable, "-m", "barnabas.cli.main", "cluster", "drain", "3", "--promote", "5", "--yes"]
    done = subprocess.run([*drain, "-b", cluster.bootstrap], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "node 5 is a broker only" in done.stderr, "told before anything moves"
    assert "becomes" not in done.stdout
    voters(cluster, "--add", "4")
    found = next(each for each in listed(cluster)["replicas"] if each["id"] == 4)
    assert found["role"] == "voter" and found["address"] == cluster.quorum_address(4)
    assert "node 4 is a voter already" in voters(cluster, "--add", "4", code=1).stderr

    leader = listed(cluster)["leader"]
    done = voters(cluster, "--remove", str(leader), "--yes")
    assert f"node {leader} is no voter now" in done.stdout
    assert f"controller.quorum.voters of node {leader} names it" in done.stderr
    assert "left: when one of them" not in done.stderr, "three are left"
    assert listed(cluster)["leader"] != leader
    assert f"node {leader} is no voter. Voters are" in voters(cluster, "--remove", str(leader), "--yes", code=1).stderr

    other = next(each for each in (1, 2, 3) if each != leader)
    assert "Nobody is here to answer" in voters(cluster, "--remove", str(other), code=2).stderr
    until(lambda: roles(cluster).get(leader) == "observer", "the one that lost its vote follows, and may be added")
    done = voters(cluster, "--remove", str(other), "--yes")
    assert f"run: barnabas cluster voters --add {leader}" in done.stderr
    told = json.loads(voters(cluster, "--add", str(leader), "--json").stdout)
    assert leader in [each["id"] for each in told["replicas"] if each["role"] != "observer"]
    cluster.create("after", 2, 3)
    assert sorted(role for role in roles(cluster).values() if role != "observer") == ["leader", "voter", "voter"]

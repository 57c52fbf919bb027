"""`barnabas cluster` over three nodes of this process: what is shown, moved, drained and refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas import Admin, Producer
from barnabas.testing import RunningCluster, running_cluster
from tests.support.members import until
from tests.unit.cli.typed import Typed

SETTINGS = {
    "offsets.topic.num.partitions": 1,
    "default.replication.factor": 1,
    "offsets.topic.replication.factor": 1,
    "broker.session.timeout.ms": 2000,
    "broker.heartbeat.interval.ms": 200,
}


@pytest.fixture(scope="module")
def three() -> Iterator[RunningCluster]:
    with running_cluster(3, SETTINGS) as cluster:
        with Admin(cluster.bootstrap) as admin:
            admin.create_topic("safe", partitions=2, replication=3)
            admin.create_topic("single", partitions=1, replication=1)
        with Producer(cluster.bootstrap) as producer:
            for number in range(20):
                producer.send("single", b"x" * 1000, key=str(number).encode())
        yield cluster


@pytest.fixture(autouse=True)
def _at(three: RunningCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARNABAS_BOOTSTRAP", three.bootstrap)


def healthy(typed: Typed) -> bool:
    return typed("cluster", "status").code == 0


def replicas(typed: Typed, topic: str) -> list[list[int]]:
    found = typed("cluster", "status", "--json").json()["partitions"]
    return [each["replicas"] for each in found if each["topic"] == topic]


def test_a_healthy_cluster(typed: Typed) -> None:
    until(lambda: healthy(typed), "everything is in sync")
    said = typed("cluster", "status")
    lines = said.lines()
    assert "nodes 3 of 3 up" in lines and "health healthy: every partition is fully replicated" in lines
    assert any(line.startswith("topics 2 topics, 3 partitions") for line in lines)
    assert any(line.startswith("node address rack state leads replicas quorum behind") for line in lines)
    assert sum(" up " in line and line[0] in "123" for line in lines) == 3
    found = typed("cluster", "status", "--json").json()
    assert (found["health"], found["problems"], found["voters"]) == ("healthy", [], [1, 2, 3])


def test_voters_are_shown_and_changed_one_at_a_time(typed: Typed) -> None:
    said = typed("cluster", "voters")
    assert said.code == 0 and [line.split()[0] for line in said.lines()[1:]] == ["1", "2", "3"]
    assert sorted(each["role"] for each in typed("cluster", "voters", "--json").json()["replicas"]) == [
        "leader", "voter", "voter",
    ]  # fmt: skip
    for words, code, told in (
        (("--add", 1), 1, "node 1 is a voter already"),
        (("--add", 9), 1, "node 9 does not follow the quorum. Start it first. Observers now: none."),
        (("--remove", 9), 1, "node 9 is no voter. Voters are 1, 2, 3."),
        (("--add", 1, "--remove", 2), 2, "--add and --remove at once"),
        (("--remove", 3), 2, "Take the vote of node 3? Nobody is here to answer. Say --yes."),
    ):
        said = typed("cluster", "voters", *words)
        assert said.code == code and told in said.err and said.err.count("\n") == 1, words


def test_a_node_is_drained_and_kept_and_the_load_is_spread_again(typed: Typed) -> None:
    (before,) = replicas(typed, "single")
    said = typed("cluster", "drain", before[0], "--keep", "--yes")
    assert said.code == 1 and "Add a node first, or give those topics fewer replicas" in said.err
    with Admin() as admin:
        admin.delete_topic("safe")
    said = typed("cluster", "drain", before[0], "--keep", "--dry-run")
    assert said.code == 0 and any(line.startswith(f"single-0 {before[0]} ") for line in said.lines())
    assert replicas(typed, "single") == [before], "a dry run changes nothing"
    planned = typed("cluster", "drain", before[0], "--keep", "--dry-run", "--json").json()
    assert planned["dry_run"] and planned["leaves"] is False
    assert [each["topic"] for each in planned["moves"] if each["topic"] == "single"] == ["single"]
    said = typed("cluster", "drain", before[0], "--keep", "--yes", "--throttle", "50MB")
    assert said.code == 0 and said.lines()[-1] == f"node {before[0]} is empty"
    assert "moved single-0 to " in said.err
    (after,) = replicas(typed, "single")
    assert after != before
    said = typed("cluster", "balance", "--yes")
    assert said.code == 0
    again = typed("cluster", "balance")
    assert again.out == "the cluster is balanced: nothing to move\n"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("drain", 9), 1, "there is no node 9. There are 1, 2, 3."),
        (("drain", 1, "--keep", "--promote", 2), 2, "--keep and --promote at once"),
        (("balance", "--throttle", "fast"), 2, "--throttle 'fast' is not a rate. Write it as 50MB"),
        (("balance", "--throttle", "0MB"), 2, "--throttle '0MB' is not a rate"),
    ],
)
def test_what_cannot_be_done(typed: Typed, words: tuple[object, ...], code: int, told: str) -> None:
    said = typed("cluster", *words)
    assert said.code == code and told in said.err and said.err.count("\n") == 1


def test_a_node_that_is_down_is_told_with_what_it_costs(typed: Typed, three: RunningCluster) -> None:
    """Last of this file: it ends with two nodes of three."""
    with Admin(three.bootstrap) as admin:
        admin.create_topic("both", partitions=1, replication=3)
    until(lambda: healthy(typed), "everything is in sync")
    leader = typed("cluster", "status", "--json").json()["quorum_leader"]
    down = next(each for each in (1, 2, 3) if each != leader)
    three.nodes[down].stop()
    until(lambda: f"1 node down: {down}" in typed("cluster", "status").out, "it is missed")
    said = typed("cluster", "status")
    assert said.code in (3, 4) and "nodes 2 of 3 up" in said.lines()
    assert any(f"1 of 3 voters of the quorum down ({down})" in line for line in said.lines())
    assert any(line.startswith("both-0 replicas ") and "in sync" in line for line in said.lines())
    assert any(f"barnabas cluster drain {down}" in line for line in said.lines())
    three.nodes[down].start()
    until(lambda: healthy(typed), "it is back")

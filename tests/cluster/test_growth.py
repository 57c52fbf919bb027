"""Nodes come and go: a new one is used, balance moves partitions to it, drain empties another, the command line says
what happens."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any, cast

import pytest

from tests.cluster.load import TimedWriter
from tests.crash.load import check_books, read_all
from tests.support.cluster import BarnabasCluster
from tests.support.members import until
from tests.support.process import end

pytestmark = pytest.mark.timeout(180)


def barnabas(*words: str, codes: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "barnabas.cli.main", *words], capture_output=True, text=True, timeout=120
    )
    assert done.returncode in codes, f"barnabas {' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_a_node_is_added_used_and_another_drained(cluster: BarnabasCluster) -> None:
    topic = cluster.create("orders", 6, 2)
    writer = TimedWriter(
        cluster.bootstrap, topic, 6, 500, **{"enable.idempotence": True, "message.timeout.ms": 120_000}
    )
    writer.await_more(200)
    cluster.add(4)
    at = ("-b", cluster.bootstrap)
    status = json.loads(barnabas("cluster", "status", "--json", *at))
    assert [each["id"] for each in status["brokers"]] == [1, 2, 3, 4]
    dry = barnabas("cluster", "balance", "--dry-run", *at)
    assert "partition" in dry
    planned = json.loads(barnabas("cluster", "balance", "--dry-run", "--json", *at))
    assert planned["dry_run"] and any(move["topic"] == topic and 4 in move["new_replicas"] for move in planned["moves"])
    assert all(4 not in cluster.partition(topic, index)["replica_nodes"] for index in range(6)), (
        "a dry run moves nothing"
    )
    barnabas("cluster", "balance", "--yes", *at)
    replicas = [cluster.partition(topic, index)["replica_nodes"] for index in range(6)]
    assert sum(4 in each for each in replicas) == 3, replicas
    assert "nothing to move" in barnabas("cluster", "balance", *at)
    writer.await_more(200)
    drained = json.loads(barnabas("cluster", "drain", "3", "--yes", "-o", "json", *at))
    assert (drained["node"], drained["new_voter"], drained["leaves"]) == (3, 4, True)
    assert all(3 not in cluster.partition(topic, index)["replica_nodes"] for index in range(6))
    cluster.nodes[3].stop()
    cluster._forget(3)
    writer.await_more(200)
    writer.finish()
    check_books(writer, read_all(cluster.bootstrap, topic, 6), idempotent=True)
    status = json.loads(barnabas("cluster", "status", "--json", *at, codes=(0, 3)))
    assert [each["id"] for each in status["brokers"]] == [1, 2, 4]
    assert status["voters"] == [1, 2, 4], "node 4 votes in the place of node 3"


def test_partitions_are_added_while_clients_run(calm: BarnabasCluster) -> None:
    from tests.support.members import Member

    topic = calm.create("growing", 2, 3)
    writer = TimedWriter(calm.bootstrap, topic, 2, 300, **{"enable.idempotence": True})
    member = Member(calm.bootstrap, "growers", [topic], **cast(Any, {"topic.metadata.refresh.interval.ms": 500}))
    writer.await_more(100)
    barnabas("topic", "grow", topic, "4", "-b", calm.bootstrap)
    until(lambda: len(member.assigned) == 4, "the group owns the new partitions", 30)
    writer.await_more(100)
    writer.finish()
    member.close()
    check_books(writer, read_all(calm.bootstrap, topic, 4), idempotent=True)


def test_status_tells_a_script_how_the_cluster_is(cluster: BarnabasCluster) -> None:
    topic = cluster.create("orders", 3, 3)
    at = ("--json", "-b", cluster.bootstrap)

    def health(code: int) -> list[str]:
        found = json.loads(barnabas("cluster", "status", *at, codes=(code,)))
        assert found["health"] == {0: "healthy", 3: "degraded", 4: "unavailable"}[code]
        return [each["text"] for each in found["problems"]]

    until(
        lambda: barnabas("cluster", "status", *at, codes=(0, 3)).startswith('{\n  "health": "healthy"'), "all in sync"
    )
    assert health(0) == []
    cluster.nodes[3].kill()
    until(lambda: all(3 not in cluster.partition(topic, index)["isr_nodes"] for index in range(3)), "3 is fenced")
    told = health(3)
    assert "1 of 3 voters of the quorum down (3): no further voter may fail" in told
    assert "1 node down: 3" in told and any("under-replicated" in each for each in told)
    cluster.nodes[2].kill()
    until(lambda: "has no leader" in barnabas("cluster", "status", *at, codes=(3, 4)), "the quorum is gone", 60)
    told = health(4)
    assert told[0].startswith("the quorum has no leader") and "2 nodes down: 2, 3" in told


def test_up_with_three_nodes_and_a_kill_test(tmp_path: object) -> None:
    """What a person does first: one command, three nodes; then watch a leader die."""
    command = [sys.executable, "-m", "barnabas.cli.main", "up", "--nodes", "3", "--port", "0", "--quiet"]
    up = subprocess.Popen(
        [*command, "--data", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert up.stdout is not None
        bootstrap = up.stdout.readline().strip()
        assert bootstrap.count(",") == 2, bootstrap
        assert "3 of 3 up" in barnabas("cluster", "status", "-b", bootstrap)
        outcome = json.loads(barnabas("cluster", "kill-test", "--yes", "--json", "-b", bootstrap))
        assert outcome["lost"] == outcome["twice"] == outcome["out_of_order"] == 0
        assert outcome["acknowledged"] > 1000
        assert outcome["gap_seconds"] < 5
        status = ("cluster", "status", "-b", bootstrap)
        until(lambda: "3 of 3 up" in barnabas(*status, codes=(0, 3)), "the killed node is back", 30)
    finally:
        up.terminate()
        begun = time.monotonic()
        try:
            assert up.wait(30) == 0
            assert time.monotonic() - begun < 20
        finally:
            end(up)

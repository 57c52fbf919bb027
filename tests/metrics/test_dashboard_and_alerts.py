"""The dashboard and the alerts of deploy/ with a real Prometheus: every expression of the dashboard returns data from
three nodes with load, a healthy cluster fires no alert, and each alert fires when its trouble is caused."""

from __future__ import annotations

import json
import resource
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Producer

from tests.metrics.load import GROUP, TOPIC, Load, subscribe_to_clients
from tests.metrics.prometheus import WINDOW, Prometheus, shortened
from tests.support.cluster import BarnabasCluster
from tests.support.members import QUIET, until
from tests.support.paths import ROOT
from tests.support.process import free_port
from tests.support.wire import ALTER_CLIENT_QUOTAS, CREATE_TOPICS, FIND_COORDINATOR, OFFSET_COMMIT, WireClient

pytestmark = [pytest.mark.timeout(180), pytest.mark.xdist_group("prometheus")]
DEPLOY = ROOT / "deploy"
ALERTS = DEPLOY / "prometheus" / "alerts.yml"
# What takes minutes or an hour to come about: as much of it as a test can wait for.
SOONER = {
    "BarnabasGroupLag": ("> 300", "> 3"),
    "BarnabasTransactionOpen": ("> 900", "> 3"),
    "BarnabasReplicationSlow": ("> 30", "> 2"),
}


class Watched(NamedTuple):
    cluster: BarnabasCluster
    load: Load
    prometheus: Prometheus

    def fires(self, *alerts: str, seconds: float = 20) -> None:
        until(lambda: set(alerts) <= self.prometheus.firing().keys(), f"alerts {alerts}", seconds)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("watched")
    cluster = BarnabasCluster(folder, 3, {"offsets.topic.num.partitions": "3", "min.insync.replicas": "2"})
    addresses = []
    for node in cluster.nodes.values():
        addresses.append(f"127.0.0.1:{free_port()}")
        with (node.log_path.parent / "server.properties").open("a") as config:
            config.write(f"metrics.listeners=http://{addresses[-1]}\n")
    rules = shortened(ALERTS, folder / "alerts.yml", SOONER)
    prometheus = Prometheus(folder / "prometheus", {"barnabas": addresses}, rules)
    load = None
    try:
        cluster.start()
        prometheus.start()
        cluster.create(TOPIC, 3, 3)
        subscribe_to_clients(cluster.nodes[1].bootstrap)
        load = Load(cluster)
        yield Watched(cluster, load, prometheus)
    finally:
        if load is not None:
            load.stop()
        prometheus.stop()
        cluster.stop()


def expressions() -> list[tuple[str, str]]:
    """Each panel's title and expression, with everything chosen and a short window."""
    found = []
    for panel in json.loads((DEPLOY / "grafana" / "barnabas.json").read_text())["panels"]:
        for target in panel.get("targets", ()):
            text = target["expr"].replace("$__rate_interval", WINDOW)
            for name in ("job", "instance", "topic", "group", "client"):
                text = text.replace(f"${name}", ".*")
            assert "$" not in text, text
            found.append((panel["title"], text))
    return found


def test_every_expression_of_the_dashboard_returns_data(watched: Watched) -> None:
    left = expressions()
    assert len(left) > 55

    def none_left() -> bool:
        left[:] = [(title, text) for title, text in left if not watched.prometheus.query(text)]
        return not left

    try:
        until(none_left, "data of every panel", 40)
    except AssertionError:
        pytest.fail("no data: " + "\n".join(f"{title}: {text}" for title, text in left))


def test_a_healthy_cluster_fires_nothing(watched: Watched) -> None:
    """Under load, for three seconds in which every rule was evaluated with data. Rules do not wait here (`for`), so a
    moment in which two nodes disagree who is the controller fires one."""
    groups = watched.prometheus.ask("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == 20 and {rule["health"] for rule in rules} == {"ok"}
    fired = 'count_over_time(ALERTS{alertstate="firing"}[3s])'
    until(lambda: watched.prometheus.query(fired) == [], "three seconds without an alert", 15)


def test_a_consumer_that_stops(watched: Watched) -> None:
    watched.load.stop_reading()
    watched.fires("BarnabasGroupStopped", "BarnabasGroupLag")
    (labels,) = watched.prometheus.firing()["BarnabasGroupLag"]
    assert (labels["consumergroup"], labels["topic"]) == (GROUP, TOPIC)


def test_a_transaction_that_stays_open(watched: Watched) -> None:
    settings = {**QUIET, "bootstrap.servers": watched.cluster.bootstrap, "transactional.id": "hanging"}
    producer = Producer(settings)
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(TOPIC, b"never decided")
    producer.flush(10)
    watched.fires("BarnabasTransactionOpen")
    producer.abort_transaction(20)
    until(lambda: "BarnabasTransactionOpen" not in watched.prometheus.firing(), "it ends with the transaction", 20)


def test_a_client_above_its_quota(watched: Watched) -> None:
    entry = {
        "entity": [{"entity_type": "client-id", "entity_name": "writer"}],
        "ops": [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}],
    }
    with WireClient(watched.cluster.nodes[1].bootstrap) as client:
        client.call(ALTER_CLIENT_QUOTAS, 1, {"entries": [entry], "validate_only": False})
        watched.fires("BarnabasThrottled")
        entry["ops"] = [{"key": "producer_byte_rate", "value": 0.0, "remove": True}]
        client.call(ALTER_CLIENT_QUOTAS, 1, {"entries": [entry], "validate_only": False})


def test_few_descriptors_left(watched: Watched) -> None:
    pid = watched.cluster.nodes[2].pid
    usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 5, usual[1]))
    try:
        watched.fires("BarnabasDescriptorsShort")
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)


def test_a_follower_that_stands_still(watched: Watched) -> None:
    """It is behind before it is found to be gone, and who commits an offset waits for it."""
    cluster = watched.cluster
    controller = cluster.controller()
    paused = next(number for number in cluster.nodes if number != controller)
    names = (f"waiting-{number}" for number in range(100))
    group = next(name for name in names if coordinator(cluster, name) == controller)
    committing = threading.Thread(target=commit, args=(cluster.nodes[controller].bootstrap, group))
    cluster.pause(paused)
    try:
        committing.start()
        watched.fires("BarnabasReplicationSlow")
    finally:
        cluster.resume(paused)
    committing.join(30)
    watched.fires("BarnabasRequestsSlow")
    until(lambda: "BarnabasUnderReplicated" not in watched.prometheus.firing(), "all replicas are in sync again", 30)


def coordinator(cluster: BarnabasCluster, group: str) -> int:
    answer = cluster.ask(cluster.controller(), FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": [group]})
    return int(answer["coordinators"][0]["node_id"])


def commit(bootstrap: str, group: str) -> None:
    partition = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
    body = {
        "group_id": group,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "group_instance_id": None,
        "topics": [{"name": TOPIC, "partitions": [partition]}],
    }
    with WireClient(bootstrap, 60) as client:
        client.call(OFFSET_COMMIT, 8, body)


def test_a_node_that_is_killed(watched: Watched) -> None:
    """Topics whose replicas it has: one of one, one of two that both have to have everything."""
    cluster = watched.cluster
    controller = cluster.controller()
    victim = next(number for number in cluster.nodes if number != controller)
    other = next(number for number in cluster.nodes if number not in (victim, controller))
    assign(cluster, "alone", [victim], "1")
    assign(cluster, "strict", [other, victim], "2")
    cluster.kill(victim)
    watched.fires(
        "BarnabasNodeDown",
        "BarnabasUnderReplicated",
        "BarnabasUnderMinIsr",
        "BarnabasOfflinePartitions",
        "BarnabasBrokerFenced",
        seconds=30,
    )
    watched.load.stop()
    cluster.kill(other)  # two of three: there is no quorum
    watched.fires("BarnabasNoActiveController", "BarnabasNodeNotReady", seconds=30)


def assign(cluster: BarnabasCluster, topic: str, replicas: list[int], min_isr: str) -> None:
    wanted = {
        "name": topic,
        "num_partitions": -1,
        "replication_factor": -1,
        "assignments": [{"partition_index": 0, "broker_ids": replicas}],
        "configs": [{"name": "min.insync.replicas", "value": min_isr}],
    }
    with WireClient(cluster.nodes[cluster.controller()].bootstrap) as client:
        answer = client.call(CREATE_TOPICS, 7, {"topics": [wanted], "timeout_ms": 10_000, "validate_only": False})
    assert answer["topics"][0]["error_code"] == 0, answer

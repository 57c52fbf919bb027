"""Flows between two nodes in this process, each run by a worker of its target: records, settings, heartbeats, groups.
Processes that are killed, and MirrorMaker itself, are in tests/mirror."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas import Admin
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.connectors.mirror.flows import Flow, flows_between, load_flows, pairs_of
from barnabas.connect.contract import Value
from barnabas.connect.errors import BadOption
from barnabas.connect.operations import removing, states
from barnabas.connect.runtime.worker import Worker
from barnabas.testing import RunningNode, running_node
from tests.conftest import FAST_GROUPS
from tests.linked_clusters.pair import commit, committed, create, produce
from tests.support.connect import all_records
from tests.support.members import QUIET, until

SETTINGS = FAST_GROUPS | {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "2"}


class Sides:
    def __init__(self, east: RunningNode, west: RunningNode) -> None:
        self.clusters: dict[str, dict[str, Value]] = {
            "east": {"bootstrap": east.bootstrap},
            "west": {"bootstrap": west.bootstrap},
        }
        self.east, self.west = east.bootstrap, west.bootstrap
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.workers: list[Worker] = []
        self.flows: list[Flow] = []

    def mirror(self, both: bool = False, **options: Value) -> None:
        quick = {"groups_every_s": 0.3, "settings_every_s": 0.3, **options}
        self.flows = flows_between(self.clusters, pairs_of(list(self.clusters), both), quick, commit_ms=20)
        for flow in self.flows:
            cluster = Cluster(flow.target)
            states.run_from_file(cluster, [flow.definition])
            worker = Worker(cluster, {flow.definition.name: "process"})
            self.workers.append(worker)
            self._threads.append(threading.Thread(target=worker.run, args=(self._stop,)))
            self._threads[-1].start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()

    def has(self, bootstrap: str, topic: str, wanted: Sequence[str]) -> None:
        """Until the topic has these, each once."""
        expected = Counter(wanted)

        def there() -> bool:
            if topic not in topics_of(bootstrap):
                return False
            found = Counter((message.value() or b"").decode() for message in all_records(bootstrap, topic))
            assert not found - expected, f"too many in {topic}: {list((found - expected).items())[:5]}"
            return found == expected

        until(there, f"{topic} at {bootstrap} has {len(wanted)} records; {[w.problems for w in self.workers]}", 30)


def topics_of(bootstrap: str) -> set[str]:
    return set(Cluster(bootstrap).admin().list_topics(timeout=10).topics)


@pytest.fixture
def sides() -> Iterator[Sides]:
    with running_node(SETTINGS) as east, running_node(SETTINGS) as west:
        made = Sides(east, west)
        try:
            yield made
        finally:
            made.stop()


def test_records_settings_heartbeats_and_groups_go_over(sides: Sides) -> None:
    east, west = sides.east, sides.west
    create(east, "orders", 2, retention_ms="86400000", min_insync_replicas="1")
    create(east, "private")
    values = [f"e{number}" for number in range(300)]
    produce(east, "orders", values, **{"compression.type": "zstd"})
    commit(east, "billing", "orders", {0: 40, 1: 40})
    sides.mirror(topics=["orders.*"], groups=["billing"])
    sides.has(west, "east.orders", values)
    there, here = (
        {(each.partition(), each.key(), each.value(), each.timestamp(), str(each.headers())) for each in found}
        for found in (all_records(east, "orders"), all_records(west, "east.orders"))
    )
    assert there == here
    assert "east.private" not in topics_of(west)

    assert _setting(west, "east.orders", "retention.ms") == "86400000"
    with Admin(east) as admin:
        admin.alter_configs("topic", "orders", {"retention.ms": "90000000"})
        admin.grow_topic("orders", 3)
    until(lambda: _setting(west, "east.orders", "retention.ms") == "90000000", "a setting follows", 20)

    producer = Producer({**QUIET, "bootstrap.servers": east, "transactional.id": "t"})
    producer.init_transactions(30)
    for ending in ("abort", "commit"):
        producer.begin_transaction()
        producer.produce("orders", f"in a transaction: {ending}", partition=1)
        producer.flush(30)
        producer.commit_transaction(30) if ending == "commit" else producer.abort_transaction(30)
    sides.has(west, "east.orders", [*values, "in a transaction: commit"])
    until(lambda: len(committed(west, "billing", "east.orders", 2)) == 2, "the group is translated", 20)
    found = committed(west, "billing", "east.orders", 2)
    assert all(0 < offset <= 40 for offset in found.values())
    until(lambda: "east.heartbeats" in topics_of(west) and bool(all_records(west, "east.heartbeats")), "heartbeats", 20)
    assert "mm2-offset-syncs.west.internal" in topics_of(east)
    assert "east.checkpoints.internal" in topics_of(west)


def _setting(bootstrap: str, topic: str, name: str) -> str | None:
    with Admin(bootstrap) as admin:
        return admin.configs("topic", topic)[name].value


def test_both_ways_by_the_same_names_nothing_comes_back(sides: Sides) -> None:
    create(sides.east, "orders", 1)
    produce(sides.east, "orders", [f"e{number}" for number in range(50)])
    sides.mirror(both=True, same_names=True, topics=["orders"], groups=["billing"])
    wanted = [f"e{number}" for number in range(50)]
    sides.has(sides.west, "orders", wanted)
    produce(sides.west, "orders", [f"w{number}" for number in range(50)])
    wanted += [f"w{number}" for number in range(50)]
    sides.has(sides.east, "orders", wanted)
    sides.has(sides.west, "orders", wanted)
    origins = {
        (dict(message.headers() or {}).get("barnabas.mirror.origin"), (message.value() or b"")[:1])
        for message in all_records(sides.west, "orders")
    }
    assert origins == {(b"east", b"e"), (None, b"w")}
    commit(sides.east, "billing", "orders", {0: 100})
    until(lambda: committed(sides.west, "billing", "orders").get(0, 0) >= 50, "the group is translated", 30)


def test_a_group_that_went_on_at_the_target_comes_home(sides: Sides) -> None:
    create(sides.east, "orders", 1)
    values = [f"e{number}" for number in range(200)]
    produce(sides.east, "orders", values)
    commit(sides.east, "billing", "orders", {0: 50})
    sides.mirror(topics=["orders"])
    sides.has(sides.west, "east.orders", values)
    until(lambda: bool(committed(sides.west, "billing", "east.orders")), "it is translated", 20)
    commit(sides.west, "billing", "east.orders", {0: 150})
    until(lambda: committed(sides.east, "billing", "orders").get(0, 0) > 100, "it is brought home", 20)
    assert committed(sides.east, "billing", "orders")[0] <= 150


def test_what_a_flow_left_is_forgotten(sides: Sides) -> None:
    create(sides.east, "orders", 1)
    produce(sides.east, "orders", ["one"])
    sides.mirror(topics=["orders"], heartbeats=False)
    sides.has(sides.west, "east.orders", ["one"])
    sides.stop()
    (flow,) = sides.flows
    gone = removing.forget(Cluster(flow.target), flow.definition.name)
    assert f"topic {flow.definition.positions_topic}" in gone
    assert flow.definition.positions_topic not in topics_of(sides.west)


def test_one_cluster_under_two_names_is_refused(sides: Sides) -> None:
    port = sides.east.rpartition(":")[2]
    sides.clusters["west"] = {"bootstrap": f"localhost:{port}"}
    sides.mirror(topics=["orders"])
    until(lambda: any("are the same cluster" in each for each in sides.workers[0].problems), "it is said", 20)


# --- the file of a mirror -------------------------------------------------------------------------------------------

CLUSTERS = "clusters:\n  east: {bootstrap: 'h:1'}\n  west: {bootstrap: 'h:2'}\n"


def test_a_file_names_clusters_and_flows(tmp_path: Path) -> None:
    file = tmp_path / "mirror.yaml"
    file.write_text(CLUSTERS + "topics: orders\nengine: spark\ncommit_ms: 50\n")
    flows = load_flows(file)
    assert [(each.definition.name, each.target) for each in flows] == [
        ("mirror-east-west", "h:2"),
        ("mirror-west-east", "h:1"),
    ]
    assert flows[0].options.topics == ("orders",) and flows[0].definition.engine == "spark"
    file.write_text(CLUSTERS + "flows: west->east\n")
    assert [each.definition.name for each in load_flows(file)] == ["mirror-west-east"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "a mirror is one document with clusters and flows"),
        ("{", "mirror.yaml"),
        ("cluster: {}", "there is no 'cluster' here"),
        ("topics: [a]", "'clusters' is missing"),
        (CLUSTERS + "flows: {}\ntopics: [a]\nflows: 7", "flows"),
        (CLUSTERS + "flows: [east]", "is not SOURCE->TARGET"),
        (CLUSTERS + "flows: [east->south]", "there is no cluster 'south'"),
        (CLUSTERS + "engine: hand", "engine is process or spark, not 'hand'"),
        (CLUSTERS + "commit_ms: 0", "commit_ms is 1 to 60000, not 0"),
        (CLUSTERS + "topics: ['(']", "'(' is no regular expression"),
        (CLUSTERS + "groups_every_s: 0", "is not between 0.1 and 3600"),
        ("clusters: {east: {bootstrap: 'h:1'}}", "a mirror is between 2 to 20 clusters, not 1"),
        ("clusters: {east: {bootstrap: 'h:1'}, west: {bootstrap: 'h:1'}}", "both clusters are at h:1"),
        ("clusters: {'a b': {bootstrap: 'h:1'}, west: {bootstrap: 'h:2'}}", "'a b' cannot name a cluster"),
        ("clusters: {east: {bootstrap: 'h:x'}, west: {bootstrap: 'h:2'}}", "cluster 'east': "),
    ],
)
def test_a_file_that_cannot_be_right(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mirror.yaml"
    file.write_text(text)
    with pytest.raises(BadOption) as problem:
        load_flows(file)
    assert said in str(problem.value) and "mirror.yaml" in str(problem.value)

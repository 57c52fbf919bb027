"""Requests about thousands of partitions or groups: none of them holds the loop for longer than LOOP_BUDGET_MS.

Measured as CPU time of the loop's thread around every callback (support/measured_node.py), the collector left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.model.limits import LOOP_BUDGET_MS, TELEMETRY_SUBSCRIPTIONS_MAX
from barnabas.observe.scrape import NodeScraper
from barnabas.wire import apis
from tests.support import measured_node
from tests.support.process import free_port
from tests.support.servers import ROOT, BarnabasNode
from tests.support.wire import WireClient, await_group_coordinator, batch, create_topic

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("hostile")]
PARTITIONS = 10_000
TOPIC = "wide"
SCRAPE_HOLDS_MAX_MS, SCRAPE_MAX_MS = 10, 100
METRICS = f"http://127.0.0.1:{free_port()}"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode]:
    settings = {"group.initial.rebalance.delay.ms": "0", "metrics.listeners": METRICS}
    server = BarnabasNode(tmp_path_factory.mktemp("held"), settings)
    at = server.command.index("barnabas.cli.main")
    server.command[at : at + 1] = ["tests.support.measured_node", str(held_file(server))]
    server.env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    server.env["NOTED_MS"] = str(SCRAPE_HOLDS_MAX_MS)
    try:
        server.start()
        with WireClient(server.bootstrap) as client:  # what is imported and compiled once is not the request's cost
            create_topic(client, "first", 2)
            produce(client, "first", range(2))
            await_group_coordinator(client)
            list_groups(client)
            delete_topic(client, "first")
        yield server
        assert server.alive(), f"the node died\n{server.tail()}"
    finally:
        server.stop()


def held_file(node: BarnabasNode) -> Path:
    return node.data.parent / "held"


def produce(client: WireClient, topic: str, partitions: range) -> dict[str, Any]:
    data = batch()
    parts = [{"index": index, "records": data} for index in partitions]
    body = {"transactional_id": None, "acks": -1, "timeout_ms": 30_000}
    return client.call(apis.PRODUCE, 9, body | {"topic_data": [{"name": topic, "partition_data": parts}]})


def delete_topic(client: WireClient, topic: str) -> None:
    body = {"topics": [{"name": topic, "topic_id": bytes(16)}], "timeout_ms": 30_000}
    assert client.call(apis.DELETE_TOPICS, 6, body)["responses"][0]["error_code"] == 0


def list_groups(client: WireClient) -> list[dict[str, Any]]:
    found = client.call(apis.LIST_GROUPS, 5, {"states_filter": [], "types_filter": []})
    assert found["error_code"] == 0
    return list(found["groups"])


def assert_no_hold(node: BarnabasNode, work: Callable[[WireClient], object], before: int | None = None) -> None:
    """`before`: the size of the file from which on it counts, else as it is now."""
    before = held_file(node).stat().st_size if before is None else before
    with WireClient(node.bootstrap, 60) as client:
        work(client)
        client.call(apis.API_VERSIONS, 0, {})
    held = measured_node.read(held_file(node), before)
    if os.environ.get("SHOW"):
        print(sorted(held, reverse=True)[:8])
    over = [each for each in held if each.milliseconds - each.collecting_ms > LOOP_BUDGET_MS]
    assert not over, over


def test_a_topic_of_thousands_of_partitions_comes(node: BarnabasNode) -> None:
    """Created once before: a virtual machine charges the first use of its memory to whoever touches it, which made
    35 ms of work 55 to 63."""
    with WireClient(node.bootstrap, 60) as client:
        create_topic(client, "first-use-of-memory", PARTITIONS)
        delete_topic(client, "first-use-of-memory")
    assert_no_hold(node, lambda client: create_topic(client, TOPIC, PARTITIONS))


@pytest.mark.parametrize("count", [400, PARTITIONS])
def test_the_first_records_of_every_partition(node: BarnabasNode, count: int) -> None:
    def work(client: WireClient) -> None:
        answer = produce(client, TOPIC, range(count))
        codes = {part["error_code"] for part in answer["responses"][0]["partition_responses"]}
        assert codes == {0}

    assert_no_hold(node, work)


def test_a_scrape_of_thousands_of_partitions(node: BarnabasNode) -> None:
    """At most 100 ms of CPU, in steps of at most 10 ms."""
    reader, took_ms = NodeScraper(METRICS, timeout_s=30), []
    reader.text("/metrics?partitions=true")  # what is imported and allocated once is not the scrape's cost
    before = held_file(node).stat().st_size
    for _ in range(5):
        found = reader.metrics(partitions=True)
        assert found.total("kafka_topic_partition_current_offset", topic=TOPIC) >= PARTITIONS
        took_ms.append(1000 * (reader.metrics().value("barnabas_scrape_seconds") or 0))
    reader.close()
    held = measured_node.read(held_file(node), before)
    over = [each for each in held if each.milliseconds - each.collecting_ms > SCRAPE_HOLDS_MAX_MS]
    assert not over, over
    assert min(took_ms) <= SCRAPE_MAX_MS, took_ms


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_a_start_with_thousands_of_logs(node: BarnabasNode, end: str) -> None:
    if end == "stopped":
        assert node.stop(60) == 0
    else:
        node.kill()
    before = held_file(node).stat().st_size
    node.start(120)
    assert_no_hold(node, lambda client: client.call(apis.METADATA, 1, {"topics": []}), before)


def test_a_topic_of_thousands_of_partitions_goes(node: BarnabasNode) -> None:
    assert_no_hold(node, lambda client: delete_topic(client, TOPIC))


def test_thousands_of_topics_come_and_go(node: BarnabasNode) -> None:
    """250 of 40 partitions each: what one decision may create, in topics that are small each."""
    names = [f"narrow-{number}" for number in range(250)]

    def come(client: WireClient) -> None:
        topics = [{"name": name, "num_partitions": 40, "replication_factor": 1, "configs": []} for name in names]
        answer = client.call(apis.CREATE_TOPICS, 7, {"topics": topics, "timeout_ms": 30_000, "validate_only": False})
        assert {topic["error_code"] for topic in answer["topics"]} == {0}

    def go(client: WireClient) -> None:
        topics = [{"name": name, "topic_id": bytes(16)} for name in names]
        answer = client.call(apis.DELETE_TOPICS, 6, {"topics": topics, "timeout_ms": 30_000})
        assert {topic["error_code"] for topic in answer["responses"]} == {0}

    assert_no_hold(node, come)
    assert_no_hold(node, go)


def test_a_setting_of_all_nodes_is_about_thousands_of_topics(node: BarnabasNode) -> None:
    with WireClient(node.bootstrap, 60) as client:
        topics = [
            {"name": f"single-{number}", "num_partitions": 1, "replication_factor": 1, "configs": []}
            for number in range(3_000)
        ]
        body = {"topics": topics, "timeout_ms": 60_000, "validate_only": False}
        assert {topic["error_code"] for topic in client.call(apis.CREATE_TOPICS, 7, body)["topics"]} == {0}

    def work(client: WireClient) -> None:
        change = {"name": "message.max.bytes", "config_operation": 0, "value": "2000000"}
        body = {"resources": [{"resource_type": 4, "resource_name": "", "configs": [change]}], "validate_only": False}
        assert client.call(apis.INCREMENTAL_ALTER_CONFIGS, 1, body)["responses"][0]["error_code"] == 0

    assert_no_hold(node, work)


def test_thousands_of_groups_are_listed(node: BarnabasNode) -> None:
    groups = 20_000
    with WireClient(node.bootstrap) as client:
        create_topic(client, "of-groups", 1)
        for number in range(groups):
            body = {
                "group_id": f"group-{number}", "generation_id_or_member_epoch": -1, "member_id": "",
                "group_instance_id": None,
                "topics": [{"name": "of-groups", "partitions": [
                    {"partition_index": 0, "committed_offset": 0, "committed_metadata": ""}
                ]}],
            }  # fmt: skip
            client.send(apis.OFFSET_COMMIT, 8, body)
            if number % 200 == 199:
                for _ in range(200):
                    client.receive(apis.OFFSET_COMMIT, 8)

    def work(client: WireClient) -> None:
        assert len(list_groups(client)) >= groups

    assert_no_hold(node, work)


def test_a_client_is_compared_with_patterns_that_take_long(node: BarnabasNode) -> None:
    """As many subscriptions as there may be; a pattern costs 0.3 ms where the client id is long."""
    keys = ("client_id", "client_software_name", "client_software_version", "client_source_address")
    slow = "(a?){100}a{100}|.*"
    entries = [("metrics", "*"), ("match", ",".join(f"{key}={slow}" for key in keys))]
    body = {
        "resources": [
            {
                "resource_type": 16,
                "resource_name": f"slow-{number}",
                "configs": [{"name": name, "config_operation": 0, "value": value} for name, value in entries],
            }
            for number in range(TELEMETRY_SUBSCRIPTIONS_MAX)
        ],
        "validate_only": False,
    }
    with WireClient(node.bootstrap, 60) as client:
        made = client.call(apis.INCREMENTAL_ALTER_CONFIGS, 1, body)
        assert not any(each["error_code"] for each in made["responses"])
        ask_for_subscription(client)  # compiles them, in a thread
    assert_no_hold(node, ask_for_subscription)


def ask_for_subscription(client: WireClient) -> None:
    client.client_id = "a" * 255
    told = client.call(apis.GET_TELEMETRY_SUBSCRIPTIONS, 0, {"client_instance_id": bytes(16)})
    assert told["error_code"] == 0 and told["requested_metrics"] == ["*"]

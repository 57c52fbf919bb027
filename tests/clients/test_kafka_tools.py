"""Kafka's own command-line tools, unchanged, from Maven."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import java as tools
from tests.support.java import JavaTools
from tests.support.members import Member, until, write
from tests.support.records import Tools, read_confluent

pytestmark = pytest.mark.timeout(120)
Create = Callable[..., str]


@pytest.fixture
def run(java: JavaTools, bootstrap: str) -> Callable[..., str]:
    """`run(TOOL, arguments...)` at our bootstrap; what the tool printed."""

    def call(tool: str, *arguments: str, code: int = 0, **more: Any) -> str:
        result = java.run(tool, "--bootstrap-server", bootstrap, *arguments, check=False, **more)
        assert result.code == code, f"{tool} {arguments}\n{result}"
        return result.out + ("" if code == 0 else result.err)

    return call


def test_topics(run: Callable[..., str], topic: str) -> None:
    run(
        tools.TOPICS,
        "--create",
        "--topic",
        topic,
        "--partitions",
        "3",
        "--replication-factor",
        "1",
        "--config",
        "retention.ms=60000",
    )
    assert topic in run(tools.TOPICS, "--list").split()
    described = run(tools.TOPICS, "--describe", "--topic", topic)
    assert "PartitionCount: 3" in described
    assert "retention.ms=60000" in described
    assert described.count("Leader: ") == 3
    run(tools.TOPICS, "--alter", "--topic", topic, "--partitions", "5")
    assert "PartitionCount: 5" in run(tools.TOPICS, "--describe", "--topic", topic)
    assert "Cannot find" not in run(tools.TOPICS, "--describe", "--under-replicated-partitions")
    assert "already exists" in run(tools.TOPICS, "--create", "--topic", topic, code=1)
    run(tools.TOPICS, "--create", "--if-not-exists", "--topic", topic)
    assert "does not exist" in run(tools.TOPICS, "--describe", "--topic", "no-such-topic", code=1)
    run(tools.TOPICS, "--delete", "--topic", topic)
    assert topic not in run(tools.TOPICS, "--list").split()


def test_configs(run: Callable[..., str], create: Create, topic: str) -> None:
    create(topic)
    entity = ("--entity-type", "topics", "--entity-name", topic)
    run(tools.CONFIGS, "--alter", *entity, "--add-config", "retention.ms=70000,cleanup.policy=[compact,delete]")
    described = run(tools.CONFIGS, "--describe", *entity)
    assert "retention.ms=70000" in described
    assert "cleanup.policy=compact,delete" in described
    everything = run(tools.CONFIGS, "--describe", "--all", *entity)
    assert "segment.bytes=1073741824" in everything
    assert "DEFAULT_CONFIG:log.segment.bytes=1073741824" in everything
    run(tools.CONFIGS, "--alter", *entity, "--delete-config", "retention.ms")
    assert "retention.ms=" not in run(tools.CONFIGS, "--describe", *entity)
    run(
        tools.CONFIGS,
        "--alter",
        "--entity-type",
        "brokers",
        "--entity-default",
        "--add-config",
        "log.cleaner.threads=2",
    )
    assert "log.cleaner.threads=2" in run(tools.CONFIGS, "--describe", "--entity-type", "brokers", "--entity-default")
    run(
        tools.CONFIGS,
        "--alter",
        "--entity-type",
        "brokers",
        "--entity-default",
        "--delete-config",
        "log.cleaner.threads",
    )
    refused = run(tools.CONFIGS, "--alter", *entity, "--add-config", "retention.ms=soon", code=1)
    assert "InvalidConfigurationException" in refused


def test_console_producer_and_consumer(run: Callable[..., str], create: Create, topic: str, group: str) -> None:
    create(topic)
    lines = "".join(f"key-{i}:value {i}\n" for i in range(50))
    run(
        tools.CONSOLE_PRODUCER,
        "--topic",
        topic,
        "--reader-property",
        "parse.key=true",
        "--reader-property",
        "key.separator=:",
        stdin=lines,
    )
    out = run(
        tools.CONSOLE_CONSUMER,
        "--topic",
        topic,
        "--from-beginning",
        "--max-messages",
        "50",
        "--group",
        group,
        "--formatter-property",
        "print.key=true",
        "--formatter-property",
        "print.offset=true",
        "--formatter-property",
        "print.timestamp=true",
    )
    found = [line.split("\t") for line in out.splitlines() if "key-" in line]
    assert [(f[2], f[3]) for f in found] == [(f"key-{i}", f"value {i}") for i in range(50)]
    assert [f[1] for f in found] == [f"Offset:{i}" for i in range(50)]
    out = run(tools.CONSOLE_CONSUMER, "--topic", topic, "--partition", "0", "--offset", "47", "--max-messages", "3")
    assert out.split("\n")[:3] == ["value 47", "value 48", "value 49"]


def test_consumer_groups(run: Callable[..., str], bootstrap: str, create: Create, topic: str, group: str) -> None:
    create(topic, 2)
    write(bootstrap, topic, [b"%d" % i for i in range(40)], 2)
    member = Member(bootstrap, group, [topic])
    until(lambda: len(member.read) == 40, "all read")
    time.sleep(0.5)  # its offsets are committed five times a second
    assert group in run(tools.CONSUMER_GROUPS, "--list").split()
    rows = [
        line.split()
        for line in run(tools.CONSUMER_GROUPS, "--describe", "--group", group).splitlines()
        if topic in line
    ]
    assert sorted((r[2], r[3], r[4], r[5]) for r in rows) == [("0", "20", "20", "0"), ("1", "20", "20", "0")]
    assert "Stable" in run(tools.CONSUMER_GROUPS, "--describe", "--group", group, "--state")
    assert f"{topic}:0,1" in run(tools.CONSUMER_GROUPS, "--describe", "--group", group, "--members", "--verbose")
    assert group in run(tools.GROUPS, "--list", "--consumer")
    member.close()
    reset = run(
        tools.CONSUMER_GROUPS, "--group", group, "--topic", topic, "--reset-offsets", "--to-offset", "5", "--execute"
    )
    assert [line.split()[3] for line in reset.splitlines() if topic in line] == ["5", "5"]
    by_time = run(
        tools.CONSUMER_GROUPS,
        "--group",
        group,
        "--topic",
        topic,
        "--reset-offsets",
        "--by-duration",
        "PT1H",
        "--dry-run",
    )
    assert [line.split()[3] for line in by_time.splitlines() if topic in line] == ["0", "0"]
    shift = run(
        tools.CONSUMER_GROUPS, "--group", group, "--topic", topic, "--reset-offsets", "--shift-by", "3", "--execute"
    )
    assert [line.split()[3] for line in shift.splitlines() if topic in line] == ["8", "8"]
    described = run(tools.CONSUMER_GROUPS, "--describe", "--group", group)
    assert sorted(line.split()[5] for line in described.splitlines() if topic in line) == ["12", "12"]
    run(tools.CONSUMER_GROUPS, "--delete-offsets", "--group", group, "--topic", topic)
    run(tools.CONSUMER_GROUPS, "--delete", "--group", group)
    assert group not in run(tools.CONSUMER_GROUPS, "--list").split()


def test_offsets_and_deleting_records(
    run: Callable[..., str], bootstrap: str, create: Create, topic: str, tmp_path: Path
) -> None:
    create(topic, 2)
    write(bootstrap, topic, [b"%d" % i for i in range(40)], 2)
    assert sorted(run(tools.GET_OFFSETS, "--topic", topic).split()) == [f"{topic}:0:20", f"{topic}:1:20"]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": 7}], "version": 1}))
    assert "low_watermark: 7" in run(tools.DELETE_RECORDS, "--offset-json-file", str(plan))
    assert sorted(run(tools.GET_OFFSETS, "--topic", topic, "--time", "-2").split()) == [f"{topic}:0:7", f"{topic}:1:0"]
    assert sorted(run(tools.GET_OFFSETS, "--topic", topic, "--time", "earliest").split()) == [
        f"{topic}:0:7",
        f"{topic}:1:0",
    ]
    assert sorted(run(tools.GET_OFFSETS, "--topic", topic, "--time", "max-timestamp").split())[0].startswith(
        f"{topic}:0:"
    )


def test_verifiable_producer_and_consumer(
    java: JavaTools, bootstrap: str, create: Create, topic: str, group: str
) -> None:
    create(topic, 3)
    common = ("--bootstrap-server", bootstrap, "--topic", topic)
    sent = java.run_alone(tools.VERIFIABLE_PRODUCER, *common, "--max-messages", "500", "--acks", "-1").out
    events = [json.loads(line) for line in sent.splitlines()]
    assert sum(e["name"] == "producer_send_success" for e in events) == 500
    assert not [e for e in events if e["name"] == "producer_send_error"]
    read = java.run_alone(
        tools.VERIFIABLE_CONSUMER, *common, "--group-id", group, "--max-messages", "500", "--reset-policy", "earliest"
    ).out
    consumed = [json.loads(line) for line in read.splitlines()]
    assert sum(e["count"] for e in consumed if e["name"] == "records_consumed") == 500
    assert any(e["name"] == "offsets_committed" and e["success"] for e in consumed)


def test_the_cluster_in_the_eyes_of_the_tools(
    run: Callable[..., str], java: JavaTools, bootstrap: str, create: Create, topic: str
) -> None:
    create(topic, 2)
    versions = run(tools.API_VERSIONS)
    assert "Produce(0): 0 to 13" in versions
    assert "UNSUPPORTED" in versions or "Fetch(1): 4 to 18" in versions
    assert "Cluster ID: " in java.run(tools.CLUSTER, "cluster-id", "--bootstrap-server", bootstrap).out
    assert "metadata.version" in run(tools.FEATURES, "describe")
    assert "can be upgraded" in run(tools.FEATURES, "upgrade", "--release-version", "4.3", "--dry-run")
    status = run(tools.QUORUM, "describe", "--status")
    assert "LeaderId:" in status
    assert "CurrentVoters:" in status
    assert "Leader" in run(tools.QUORUM, "describe", "--replication")
    described = json.loads(run(tools.LOG_DIRS, "--describe", "--topic-list", topic).splitlines()[-1])
    partitions = [p["partition"] for d in described["brokers"][0]["logDirs"] for p in d["partitions"]]
    assert sorted(partitions) == [f"{topic}-0", f"{topic}-1"]
    election = run(tools.LEADER_ELECTION, "--election-type", "preferred", "--topic", topic, "--partition", "0")
    assert "already" in election or "success" in election.lower() or "not needed" in election.lower(), election


def test_the_performance_tools(
    java: JavaTools, tools_: Tools, bootstrap: str, create: Create, topic: str, group: str
) -> None:
    """What an operator measures with."""
    create(topic, 3)
    out = java.run(
        "org.apache.kafka.tools.ProducerPerformance",
        "--bootstrap-server",
        bootstrap,
        "--topic",
        topic,
        "--num-records",
        "20000",
        "--record-size",
        "100",
        "--throughput",
        "-1",
    ).out
    assert "20000 records sent" in out
    out = java.run(
        "org.apache.kafka.tools.ConsumerPerformance",
        "--bootstrap-server",
        bootstrap,
        "--topic",
        topic,
        "--num-records",
        "20000",
        "--group",
        group,
    ).out
    assert ", 20000, " in out
    assert len(read_confluent(tools_, topic)) == 20000


@pytest.fixture
def tools_(tools: Tools) -> Tools:
    return tools

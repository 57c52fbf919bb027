"""The metadata log of a busy cluster, read by Kafka's own dump tool, metadata shell and image classes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions

from barnabas.broker.quorum.metadata_log import MetadataLog
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.raft import OffsetAndEpoch, VoterSet
from barnabas.model.ids import uuid_text
from tests.cluster.conftest import FAST
from tests.support import java as tools
from tests.support.cluster import BarnabasCluster
from tests.support.java import JavaTools
from tests.support.members import QUIET
from tests.support.paths import ROOT
from tests.support.wire import API_VERSIONS

pytestmark = [pytest.mark.timeout(240), pytest.mark.xdist_group("metadata-records")]
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
SHELL = "org.apache.kafka.shell.MetadataShell"
METADATA = "__cluster_metadata-0"
WRITTEN = {  # every type that a cluster writes
    "REGISTER_BROKER_RECORD",
    "UNREGISTER_BROKER_RECORD",
    "BROKER_REGISTRATION_CHANGE_RECORD",
    "TOPIC_RECORD",
    "REMOVE_TOPIC_RECORD",
    "PARTITION_RECORD",
    "PARTITION_CHANGE_RECORD",
    "CONFIG_RECORD",
    "FEATURE_LEVEL_RECORD",
    "PRODUCER_IDS_RECORD",
}


@dataclass(frozen=True)
class Busy:
    folder: Path  # a copy of a running node's metadata folder
    reported: list[str]  # what the nodes told clients at that moment, as lines of MetadataReplay


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory, java: JavaTools) -> Iterator[Busy]:
    """A cluster that did one of everything."""
    folder = tmp_path_factory.mktemp("busy")
    cluster = BarnabasCluster(folder, 3, FAST | {"racks": "yes"})
    try:
        cluster.start()
        live(cluster, java, folder)
        while True:
            reported = reports(cluster)
            shutil.rmtree(folder / "copy", ignore_errors=True)
            shutil.copytree(cluster.nodes[1].data / METADATA, folder / "copy" / METADATA)
            if reports(cluster) == reported:  # nothing changed meanwhile
                break
        yield Busy(folder / "copy" / METADATA, reported)
    finally:
        cluster.stop()


def reports(cluster: BarnabasCluster) -> list[str]:
    """Topics, partitions, brokers, configurations and features by the APIs."""
    lines = []
    found = cluster.metadata(1)
    for broker in found["brokers"]:
        lines.append(f"broker {broker['node_id']} {broker['host']}/{broker['port']} {broker['rack']}")
    for topic in found["topics"]:
        for p in topic["partitions"]:
            where = f"{p['leader_id']} {p['leader_epoch']} {p['replica_nodes']} {sorted(p['isr_nodes'])}"
            lines.append(f"partition {topic['name']} {p['partition_index']} {where}".replace(", ", ","))
    admin = AdminClient({**QUIET, "bootstrap.servers": cluster.bootstrap})
    asked = [ConfigResource(ConfigResource.Type.TOPIC, "kept"), ConfigResource(ConfigResource.Type.BROKER, "2")]
    dynamic = {1: "TOPIC", 2: "2", 3: "''"}  # by the source: of the topic, of the broker, of every broker
    for answer in admin.describe_configs(asked).values():
        for entry in answer.result(20).values():
            if entry.source in dynamic:
                lines.append(f"config {dynamic[entry.source]} {entry.name}={entry.value}")
    features = cluster.ask(1, API_VERSIONS, 4, {"client_software_name": "t", "client_software_version": "1"})
    for each in features["finalized_features"]:
        if each["name"] != "kraft.version":  # which Kafka's image does not have: it is the quorum's
            lines.append(f"feature {each['name']} {each['max_version_level']}")
    return sorted(lines)


def as_reported(lines: list[str]) -> list[str]:
    """What of MetadataReplay's lines a client can see, in the form of `reports`."""
    seen = []
    for line in lines:
        kind, *words = line.split(" ")
        if kind == "broker":
            _, _, host, port = words[3].split(",")[-1].split("/")  # clients' listener: nodes may have one of their own
            seen.append(f"broker {words[0]} {host}/{port} {words[4]}")
        elif kind == "partition":
            topic, index, leader, leader_epoch, _, replicas, isr = words[:7]
            ordered = ",".join(sorted(isr.strip("[]").split(",")))
            seen.append(f"partition {topic} {index} {leader} {leader_epoch} {replicas} [{ordered}]")
        elif kind == "config":
            whose = {"2 'kept'": "TOPIC", "4 '2'": "2", "4 ''": "''"}[" ".join(words[:2])]
            seen.append(f"config {whose} {words[2]}")
        elif kind == "feature":
            seen.append(line)
    return sorted(seen)


def live(cluster: BarnabasCluster, java: JavaTools, folder: Path) -> None:
    place = ("--bootstrap-server", cluster.bootstrap)
    cluster.create("kept", 4, 3, retention_ms="86400000", min_insync_replicas="2")
    cluster.create("gone", 2, 3)
    moved = cluster.create("moved", 1, 1)
    admin = AdminClient({**QUIET, "bootstrap.servers": cluster.bootstrap})
    admin.create_partitions([NewPartitions("kept", 6)])["kept"].result(20)
    admin.delete_topics(["gone"])["gone"].result(20)
    entity = ("--entity-type", "topics", "--entity-name", "kept")
    java.run(tools.CONFIGS, *place, "--alter", *entity, "--add-config", "segment.bytes=2097152,retention.bytes=9")
    java.run(tools.CONFIGS, *place, "--alter", *entity, "--delete-config", "retention.bytes")
    every = ("--entity-type", "brokers", "--entity-default", "--add-config", "log.cleaner.threads=2")
    java.run(tools.CONFIGS, *place, "--alter", *every)
    one = ("--entity-type", "brokers", "--entity-name", "2", "--add-config", "log.retention.ms=1000000")
    java.run(tools.CONFIGS, *place, "--alter", *one)
    producer = Producer({**QUIET, "bootstrap.servers": cluster.bootstrap, "enable.idempotence": True})
    producer.produce("kept", b"v")
    assert producer.flush(30) == 0
    other = next(number for number in (1, 2, 3) if number != cluster.leader(moved))
    plan = {"version": 1, "partitions": [{"topic": moved, "partition": 0, "replicas": [other]}]}
    (folder / "plan.json").write_text(json.dumps(plan))
    java.run(REASSIGN, *place, "--reassignment-json-file", str(folder / "plan.json"), "--execute")
    cluster.until(lambda: cluster.partition(moved)["replica_nodes"] == [other], "the partition is moved", 30)
    cluster.add(4)
    cluster.stop_one(4)
    cluster.await_brokers({1, 2, 3})
    java.run(tools.CLUSTER, "unregister", *place, "--id", "4")
    cluster.kill(3)
    cluster.await_brokers({1, 2})
    cluster.await_isr("kept", 2, 6)
    cluster.kill(2)
    cluster.start(2, 3)
    cluster.await_isr("kept", 3, 6)
    cluster.await_isr("moved", 1)


@pytest.fixture(scope="module")
def loaded(busy: Busy, tmp_path_factory: pytest.TempPathFactory) -> tuple[MetadataImage, Path]:
    """What we make of the same files, and a snapshot of it."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(busy.folder, root / METADATA)
    log = MetadataLog(root)
    image, view = log.load(None)
    image = log.replay(image, view.end_offset)
    made = OffsetAndEpoch(image.offset + 1, image.epoch)
    voters: VoterSet = view.voters[-1][1]
    log.snapshots.write(image, made, voters, 1000)
    log.close()
    return image, Path(log.snapshots.path(made))


def decoded(java: JavaTools, file: Path) -> Counter[str]:
    """The types of the records, each of which Kafka's dump tool could read."""
    out = java.run(tools.DUMP_LOG, "--cluster-metadata-decoder", "--files", str(file)).out
    assert "isvalid: false" not in out and "rror" not in out, out[-3000:]
    payloads = re.findall(r"^\| offset: \d+ .*? payload: (.*)$", out, re.M)
    records = [json.loads(payload) for payload in payloads if "metadata" not in payload[:3]]
    assert records, out[-3000:]
    return Counter(record["type"] for record in records if "type" in record)


def test_the_log_is_decoded(busy: Busy, java: JavaTools) -> None:
    found = decoded(java, next(busy.folder.glob("*.log")))
    assert WRITTEN - set(found) == set(), found
    assert found["TOPIC_RECORD"] >= 3 and found["PARTITION_RECORD"] >= 9, found


def test_a_snapshot_is_decoded(loaded: tuple[MetadataImage, Path], java: JavaTools) -> None:
    image, file = loaded
    found = decoded(java, file)
    assert found["TOPIC_RECORD"] == len(image.topics)
    assert found["PARTITION_RECORD"] == sum(len(topic.partitions) for topic in image.topics.values())
    assert found["REGISTER_BROKER_RECORD"] == len(image.brokers) == 3


def test_the_shell_shows_the_cluster(loaded: tuple[MetadataImage, Path], java: JavaTools) -> None:
    image, file = loaded

    def show(*command: str) -> str:
        for _ in range(5):
            done = java.run_alone(SHELL, "--snapshot", str(file), *command)
            assert done.code == 0, done
            if done.out:
                return done.out
            # The shell waits until its loader has applied the last batch, and not until it has handed the image on
            # (MetadataLoader schedules that): on a slow machine or a large snapshot it finds nothing yet.
        raise AssertionError(f"the shell shows nothing: {done}")

    assert set(show("ls", "/image/topics/byName").split()) == set(image.topics)
    partition = image.topics["kept"].partitions[5]
    shown = show("cat", "/image/topics/byName/kept/5")
    assert f"leader={partition.leader}" in shown and f"partitionEpoch={partition.partition_epoch}" in shown, shown
    assert "86400000" in show("cat", "/image/configs/TOPIC:kept/retention.ms")
    assert set(show("ls", "/image/cluster/brokers").split()) == {"1", "2", "3"}


def test_kafka_replays_it_to_the_same_state(busy: Busy, loaded: tuple[MetadataImage, Path], java: JavaTools) -> None:
    image, file = loaded
    ours = lines_of(image)
    assert [line for line in ours if line.startswith("partition kept")]
    for name in (next(busy.folder.glob("*.log")), file):
        theirs = java.run("MetadataReplay", str(name)).out.splitlines()
        assert theirs == ours, name.name
        assert as_reported(theirs) == busy.reported, name.name


def test_the_schema_files_are_those_of_kafkas_classes(java: JavaTools, tmp_path: Path) -> None:
    tool = ROOT / "tools" / "metadata_schemas.py"
    subprocess.run([sys.executable, str(tool), str(tmp_path)], check=True, timeout=120)
    folder = ROOT / "src" / "barnabas" / "wire" / "schema" / "metadata"
    wanted, found = ({path.name: path.read_text() for path in each.iterdir()} for each in (tmp_path, folder))
    assert found == wanted, "run tools/metadata_schemas.py"


def lines_of(image: MetadataImage) -> list[str]:
    """As tests/java/MetadataReplay.java prints them."""

    def ids(values: tuple[bytes, ...]) -> str:
        return "[" + ",".join(map(uuid_text, values)) + "]"

    def numbers(values: tuple[int, ...]) -> str:
        return "[" + ",".join(map(str, values)) + "]"

    lines = [f"next producer id {image.next_producer_id}"]
    # Kafka's image passes over kraft.version, which it takes from the control records
    lines += [f"feature {name} {level}" for name, level in image.features.items() if name != "kraft.version"]
    for b in image.brokers.values():
        endpoints = ",".join(sorted(f"{e.name}/{e.protocol}/{e.host}/{e.port}" for e in b.endpoints))
        features = ",".join(sorted(f"{name}={low}-{high}" for name, (low, high) in b.features.items()))
        fields = [b.broker_id, b.broker_epoch, uuid_text(b.incarnation_id), endpoints, b.rack or "-"]
        fields += [str(b.fenced).lower(), str(b.in_controlled_shutdown).lower(), ids(b.directories), features]
        lines.append(f"broker {' '.join(map(str, fields))}")
    configs = [(kind, name, config) for (kind, name), config in image.configs.items()]
    configs += [(2, topic.name, topic.configs) for topic in image.topics.values()]
    lines += [
        f"config {kind} '{name}' {key}={value}" for kind, name, config in configs for key, value in config.items()
    ]
    for topic in image.topics.values():
        lines.append(f"topic {topic.name} {uuid_text(topic.id)}")
        for index, p in enumerate(topic.partitions):
            places: list[Any] = [p.replicas, p.isr, ids(p.directories), p.adding_replicas, p.removing_replicas]
            places += [p.elr, p.last_known_elr]
            shown = [each if isinstance(each, str) else numbers(each) for each in places]
            epochs = f"{p.leader} {p.leader_epoch} {p.partition_epoch}"
            lines.append(f"partition {topic.name} {index} {epochs} {' '.join(shown)}")
    return sorted(lines)

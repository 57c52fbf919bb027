"""A cluster as an operator wants to see it: who is up, who leads, what is not safe, how far the quorum has come.

Read from three requests that any Kafka answers: DescribeCluster (also the brokers that are down), Metadata, and
DescribeQuorum. Where nodes name a zone, from the settings of topics as well (zones.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.cli.cluster.zones import topic_settings, zone_of_controller
from barnabas.cli.common.cluster import Cluster, NotServing, refused
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.link import SERVING_S
from barnabas.model.ids import METADATA_TOPIC
from barnabas.operate.placement.nouns import Broker, Partition, led_elsewhere
from barnabas.operate.zones import Zone, refusing_writes, sharing_a_zone, zones
from barnabas.wire.apis import DESCRIBE_CLUSTER, DESCRIBE_LOG_DIRS, DESCRIBE_QUORUM, METADATA

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        DescribeClusterResponse,
        DescribeLogDirsResponse,
        DescribeQuorumResponse,
        MetadataResponse,
    )

SILENT_MS = 10_000  # a voter fetches several times a second
_LEADERLESS_S = 3.0  # an election takes less; without a majority the node that is asked waits for one much longer


@dataclass(frozen=True, slots=True)
class LogDirectory:
    broker_id: int
    path: str
    total_bytes: int  # of its disk; -1 where the node does not tell
    usable_bytes: int
    failed: bool = False


@dataclass(slots=True)
class View:
    cluster_id: str
    brokers: list[Broker] = field(default_factory=list)
    partitions: list[Partition] = field(default_factory=list)
    topics: int = 0
    quorum_leader: int = -1
    quorum_epoch: int = -1
    voters: list[int] = field(default_factory=list)
    lost_votes: list[int] = field(default_factory=list)  # nodes that are up, whose votes belong to folders they lost
    disks: list[LogDirectory] = field(default_factory=list)
    zones: list[Zone] = field(default_factory=list)
    refusing_writes: list[Partition] = field(default_factory=list)  # for want of zones that are in sync
    preferred: dict[str, list[str]] = field(default_factory=dict)  # leader.preferred.racks, of topics that have them

    @property
    def under_replicated(self) -> list[Partition]:
        return [each for each in self.partitions if each.under_replicated and each.leader >= 0]

    @property
    def led_elsewhere(self) -> list[Partition]:
        return led_elsewhere(self.brokers, self.partitions)

    @property
    def sharing_a_zone(self) -> list[Partition]:
        return sharing_a_zone(self.brokers, self.partitions)

    @property
    def without_leader(self) -> list[Partition]:
        return [each for each in self.partitions if each.leader < 0]


def view(cluster: Cluster) -> View:
    told: DescribeClusterResponse = cluster.ask_any(DESCRIBE_CLUSTER, {"include_fenced_brokers": True})
    if told.error_code:
        raise refused(told.error_code, "describe the cluster", cluster.bootstrap)
    brokers = {
        each.broker_id: Broker(each.broker_id, each.host, each.port, each.rack, not getattr(each, "is_fenced", False))
        for each in told.brokers
    }
    found = View(told.cluster_id, sorted(brokers.values(), key=lambda each: each.id))
    metadata: MetadataResponse | None = cluster.ask_briefly(
        METADATA, {"topics": None, "allow_auto_topic_creation": False}, SERVING_S
    )
    if metadata is None:
        raise NotServing(cluster.bootstrap)
    found.topics = sum(not topic.is_internal for topic in metadata.topics)
    for topic in metadata.topics:
        for part in topic.partitions:
            found.partitions.append(
                Partition(
                    topic.name or "",
                    part.partition_index,
                    part.leader_id,
                    tuple(part.replica_nodes),
                    tuple(part.isr_nodes),
                    tuple(part.offline_replicas or ()),
                )
            )
    found.partitions.sort(key=lambda each: (each.topic, each.index))
    for partition in found.partitions:
        for broker_id in partition.replicas:
            if broker_id in brokers:
                brokers[broker_id].replicas += 1
        if partition.replicas[0] in brokers:
            brokers[partition.replicas[0]].preferred += 1
        if partition.leader in brokers:
            brokers[partition.leader].leads += 1
    _quorum(cluster, found, brokers)
    _probe(cluster, found)
    settings = topic_settings(cluster, found.brokers, found.partitions)
    found.preferred = settings.preferred()
    needs = settings.needs()
    found.zones = zones(found.brokers, found.partitions, found.voters, needs)
    found.refusing_writes = refusing_writes(found.brokers, found.partitions, needs)
    return found


def _quorum(cluster: Cluster, found: View, brokers: dict[int, Broker]) -> None:
    asked = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]}
    answer: DescribeQuorumResponse | None = cluster.ask_briefly(DESCRIBE_QUORUM, asked, _LEADERLESS_S)
    if answer is None or answer.error_code or not answer.topics or answer.topics[0].partitions[0].error_code:
        return  # between two leaders there is nothing to tell
    quorum = answer.topics[0].partitions[0]
    found.quorum_leader, found.quorum_epoch = quorum.leader_id, quorum.leader_epoch
    found.voters = sorted(each.replica_id for each in quorum.current_voters)
    now_ms = max((getattr(each, "last_fetch_timestamp", -1) for each in quorum.current_voters), default=-1)
    end = max((each.log_end_offset for each in quorum.current_voters), default=0)
    newer = {each.replica_id for each in quorum.observers if _fetches(each, now_ms)}
    found.lost_votes = [
        each.replica_id for each in quorum.current_voters if each.replica_id in newer and not _fetches(each, now_ms)
    ]
    addresses = {
        each.node_id: (each.listeners[0].host, each.listeners[0].port)
        for each in getattr(answer, "nodes", ())
        if each.listeners
    }
    for role, replicas in (("voter", quorum.current_voters), ("observer", quorum.observers)):
        for each in replicas:
            broker = brokers.get(each.replica_id)
            if broker is None and role == "observer":
                continue  # one that has left: the quorum remembers whoever fetched for some minutes
            if broker is None:  # a controller that is no broker
                up = each.replica_id == quorum.leader_id or _fetches(each, now_ms)
                broker = brokers[each.replica_id] = Broker(each.replica_id, "", 0, None, up)
                found.brokers.append(broker)
                if up and each.replica_id in addresses and any(known.rack for known in found.brokers):
                    broker.rack = zone_of_controller(cluster, each.replica_id, addresses[each.replica_id])
            broker.role = "leader" if each.replica_id == quorum.leader_id else role
            broker.behind = end - each.log_end_offset if each.log_end_offset >= 0 else None


def _probe(cluster: Cluster, found: View) -> None:
    """A connection to each broker, and its disk. A quorum without a majority cannot fence anybody, so a broker that
    died then is listed as up until somebody tries."""
    for broker in found.brokers:
        if not broker.up or not broker.port:
            continue
        try:
            answer: DescribeLogDirsResponse = cluster.ask(broker.id, DESCRIBE_LOG_DIRS, {"topics": []})
            folders = answer.results
        except (Failure, KeyError):
            broker.up = False
            continue
        found.disks += [
            LogDirectory(
                broker.id,
                each.log_dir,
                getattr(each, "total_bytes", -1),
                getattr(each, "usable_bytes", -1),
                bool(each.error_code),
            )
            for each in folders
        ]


def _fetches(voter: object, now_ms: int) -> bool:
    """Whether a voter that is no broker is up: it fetched from the leader just now. The leader's time is now."""
    fetched_ms: int = getattr(voter, "last_fetch_timestamp", now_ms)  # the oldest version does not say
    return now_ms < 0 or (fetched_ms >= 0 and now_ms - fetched_ms < SILENT_MS)


def sizes(cluster: Cluster, brokers: list[Broker]) -> dict[tuple[str, int, int], int]:
    """(topic, partition, broker) -> bytes, of the brokers that are up."""
    found: dict[tuple[str, int, int], int] = {}
    for broker in brokers:
        if not broker.up or broker.id not in cluster.brokers:
            continue
        answer: DescribeLogDirsResponse = cluster.ask(broker.id, DESCRIBE_LOG_DIRS, {"topics": None})
        for folder in answer.results:
            for topic in folder.topics:
                for part in topic.partitions:
                    if not part.is_future_key:
                        found[topic.name, part.partition_index, broker.id] = part.partition_size
    return found

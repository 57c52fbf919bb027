"""One node asked by hand, byte by byte: what `doctor` needs and a client library hides.

A client is told an address by Metadata and then goes there; most "cannot connect" reports come from that second step.
So this speaks the two requests of every client's first second itself: ApiVersions, then Metadata, with bounded waits.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from barnabas.cli.common.cluster import CLIENT_ID
from barnabas.cli.common.login import login_for
from barnabas.link.blocking_driver import BlockingLink, LinkOptions
from barnabas.model.limits import CLI_ANSWER_MAX_BYTES
from barnabas.operate.placement.nouns import Broker, Partition
from barnabas.operate.zones import sharing_a_zone
from barnabas.wire.apis import API_VERSIONS, METADATA

if TYPE_CHECKING:
    from barnabas.wire.messages import ApiVersionsResponse, MetadataResponse

TIMEOUT_S = 3.0
_OPTIONS = LinkOptions(
    client_id=CLIENT_ID,
    connect_timeout_s=TIMEOUT_S,
    answer_timeout_s=TIMEOUT_S,
    answer_max_bytes=CLI_ANSWER_MAX_BYTES,
    ask_versions=False,  # asked here, to measure the round trip
)
_METADATA_VERSION = 8  # the last with plain types: every broker since Kafka 2.3 and of today speaks it


@dataclass(frozen=True, slots=True)
class Told:
    """What a client learns in its first second."""

    apis: dict[int, tuple[int, int]]
    cluster_id: str | None
    controller_id: int
    brokers: dict[int, tuple[str, int]]
    topics: int
    leaderless: list[str]  # partitions
    sharing_a_zone: list[str]  # likewise: two replicas are in one zone, and need not be
    round_trip_s: float


def connect(host: str, port: int) -> BlockingLink:
    login = login_for(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    return BlockingLink(host, port, replace(_OPTIONS, tls=login.tls, credentials=login.credentials))


def ask(host: str, port: int) -> Told:
    """The first second of a client."""
    with closing(connect(host, port)) as link:
        started = time.perf_counter()
        versions: ApiVersionsResponse = link.call(API_VERSIONS, 0, {})
        round_trip = time.perf_counter() - started
        apis = {each.api_key: (each.min_version, each.max_version) for each in versions.api_keys}
        low, high = apis.get(METADATA, (0, 0))
        version = min(max(low, _METADATA_VERSION), high)
        metadata: MetadataResponse = link.call(METADATA, version, {"topics": None})
        return Told(
            apis,
            metadata.cluster_id,
            metadata.controller_id,
            {each.node_id: (each.host, each.port) for each in metadata.brokers},
            len(metadata.topics),
            [
                f"{topic.name}-{each.partition_index}"
                for topic in metadata.topics
                for each in topic.partitions
                if each.leader_id < 0
            ],
            _sharing_a_zone(metadata),
            round_trip,
        )


def _sharing_a_zone(metadata: MetadataResponse) -> list[str]:
    brokers = [Broker(each.node_id, each.host, each.port, each.rack, True) for each in metadata.brokers]
    partitions = [
        Partition(topic.name or "", each.partition_index, each.leader_id, tuple(each.replica_nodes), ())
        for topic in metadata.topics
        for each in topic.partitions
    ]
    return [each.name for each in sharing_a_zone(brokers, partitions)]

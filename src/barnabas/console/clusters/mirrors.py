"""Mirrors, MirrorMaker's and ours, as the topics of a cluster show them: their names say from where and to where, and
the newest record of heartbeats and checkpoints says whether they still come.

How far a mirror is behind only both clusters together can say (`barnabas mirror status`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.console.clusters.facts import Topic
from barnabas.console.clusters.reading import of_all
from barnabas.link.async_nodes import AsyncNodes
from barnabas.wire.apis import LIST_OFFSETS

if TYPE_CHECKING:
    from barnabas.wire.messages import ListOffsetsResponse

HEARTBEATS = "heartbeats"
_FROM = re.compile(r"([A-Za-z0-9_-]+)\.(?:heartbeats|checkpoints\.internal)")
_TO = re.compile(r"mm2-offset-syncs\.([A-Za-z0-9_-]+)\.internal")
_MAX_TIMESTAMP = -3  # ListOffsets: the newest record's own (KIP-734)
_ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Mirror:
    other: str  # the other cluster, by the mirror's name for it
    incoming: bool
    topics: int  # copies here that have its name in front
    heartbeats: str  # topics that show that it lives; "" where there is none
    checkpoints: str


def mirrors_of(topics: Mapping[str, object]) -> list[Mirror]:
    sources = {match[1] for name in topics if (match := _FROM.fullmatch(name))}
    targets = {match[1] for name in topics if (match := _TO.fullmatch(name))}
    found = [_incoming(source, topics) for source in sorted(sources)]
    beats = HEARTBEATS if HEARTBEATS in topics else ""
    return found + [
        Mirror(target, False, 0, beats, f"mm2-offset-syncs.{target}.internal") for target in sorted(targets)
    ]


def _incoming(source: str, topics: Mapping[str, object]) -> Mirror:
    beats, checkpoints = f"{source}.{HEARTBEATS}", f"{source}.checkpoints.internal"
    copies = sum(
        name.startswith(f"{source}.") and not name.endswith((f".{HEARTBEATS}", ".internal")) for name in topics
    )
    return Mirror(source, True, copies, beats if beats in topics else "", checkpoints if checkpoints in topics else "")


async def read_newest(nodes: AsyncNodes, topics: Iterable[Topic]) -> dict[str, int]:
    """When the newest record of each was written, in ms; without those that are empty or may not be seen."""
    found: dict[str, int] = {}

    async def ask(topic: Topic, leader: int, index: int) -> None:
        partition = {"partition_index": index, "current_leader_epoch": -1, "timestamp": _MAX_TIMESTAMP}
        body = {
            "replica_id": -1,
            "isolation_level": 0,
            "topics": [{"name": topic.name, "partitions": [partition]}],
        }
        answer: ListOffsetsResponse = await nodes.ask(leader, LIST_OFFSETS, body, timeout_s=_ANSWER_SECONDS)
        told = answer.topics[0].partitions[0]
        if not told.error_code and told.timestamp >= 0:
            found[topic.name] = max(found.get(topic.name, 0), told.timestamp)

    await of_all(
        ask(topic, each.leader, each.index) for topic in topics for each in topic.partitions if each.leader >= 0
    )
    return found

"""The questions that a sample asks, each of the nodes that can answer, and what becomes of the answers."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from barnabas.console.clusters.facts import Facts, Group, LogFolder, Node, Partition, Topic, TopicPartition
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.errors import LinkDown, UnknownApi
from barnabas.link.view import GROUP_KEY
from barnabas.pipelines.source.group import is_of_spark
from barnabas.wire.apis import DESCRIBE_CLUSTER, DESCRIBE_LOG_DIRS, LIST_GROUPS, LIST_OFFSETS, OFFSET_FETCH

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        DescribeClusterResponse,
        DescribeLogDirsResponse,
        ListGroupsResponse,
        ListOffsetsResponse,
        MetadataResponseTopic,
        OffsetFetchResponse,
        OffsetFetchResponseTopic,
        OffsetFetchResponseTopics,
    )

LATEST, EARLIEST = -1, -2
_ANSWER_SECONDS = 10.0  # a sample that takes longer is given up: the page says so
_OF_MANY_GROUPS = 8  # OffsetFetch


async def read_cluster(nodes: AsyncNodes, facts: Facts) -> None:
    """Metadata of every topic that this person may see, and the nodes, fenced ones included."""
    answer = await nodes.look_up(None)
    known: DescribeClusterResponse = await nodes.ask_any(
        DESCRIBE_CLUSTER, {"include_fenced_brokers": True}, timeout_s=_ANSWER_SECONDS
    )
    facts.cluster_id, facts.controller = answer.cluster_id or "", answer.controller_id
    facts.nodes = {
        each.broker_id: Node(each.broker_id, each.host, each.port, each.rack, bool(each.is_fenced))
        for each in known.brokers
    }
    facts.topics = {each.name: _topic(each.name, each) for each in answer.topics if each.name and not each.error_code}


def _topic(name: str, told: MetadataResponseTopic) -> Topic:
    partitions = sorted(told.partitions, key=lambda each: each.partition_index)
    return Topic(
        name,
        str(UUID(bytes=bytes(told.topic_id))) if told.topic_id else "",
        told.is_internal,
        tuple(
            Partition(
                each.partition_index,
                each.leader_id,
                each.leader_epoch,
                tuple(each.replica_nodes),
                tuple(each.isr_nodes),
            )
            for each in partitions
        ),
    )


async def read_offsets(
    nodes: AsyncNodes, topics: Iterable[Topic], when: int, timeout_s: float = _ANSWER_SECONDS
) -> dict[TopicPartition, int]:
    """ListOffsets of every partition that has a leader, one request a leader; who does not answer is left out."""
    of_leader: dict[int, dict[str, list[Partition]]] = defaultdict(lambda: defaultdict(list))
    for topic in topics:
        for each in topic.partitions:
            if each.leader >= 0:
                of_leader[each.leader][topic.name].append(each)
    found: dict[TopicPartition, int] = {}

    async def ask(leader: int, wanted: Mapping[str, list[Partition]]) -> None:
        body = {
            "replica_id": -1,
            "isolation_level": 0,
            "topics": [
                {
                    "name": name,
                    "partitions": [
                        {"partition_index": each.index, "current_leader_epoch": -1, "timestamp": when}
                        for each in partitions
                    ],
                }
                for name, partitions in wanted.items()
            ],
        }
        answer: ListOffsetsResponse = await nodes.ask(leader, LIST_OFFSETS, body, timeout_s=timeout_s)
        for topic in answer.topics:
            for each in topic.partitions:
                if not each.error_code:
                    found[topic.name, each.partition_index] = each.offset

    await of_all(ask(leader, wanted) for leader, wanted in of_leader.items())
    return found


async def read_sizes(nodes: AsyncNodes, node_ids: Iterable[int]) -> tuple[dict[str, int], list[LogFolder]]:
    """Bytes of every topic over all replicas, and the folders that they lie in, with their bytes."""
    sizes: dict[str, int] = defaultdict(int)
    folders: list[LogFolder] = []

    async def ask(node: int) -> None:
        answer: DescribeLogDirsResponse = await nodes.ask(
            node, DESCRIBE_LOG_DIRS, {"topics": None}, timeout_s=_ANSWER_SECONDS
        )
        for each in answer.results:
            held = 0
            for topic in each.topics:
                size = sum(partition.partition_size for partition in topic.partitions)
                sizes[topic.name] += size
                held += size
            folders.append(LogFolder(node, each.log_dir, each.total_bytes, each.usable_bytes, each.error_code, held))

    await of_all(ask(node) for node in node_ids)
    return dict(sizes), sorted(folders, key=lambda each: (each.node, each.path))


async def read_groups(nodes: AsyncNodes, node_ids: Iterable[int]) -> dict[str, Group]:
    found: dict[str, Group] = {}

    async def ask(node: int) -> None:
        body: dict[str, object] = {"states_filter": [], "types_filter": []}
        answer: ListGroupsResponse = await nodes.ask(node, LIST_GROUPS, body, timeout_s=_ANSWER_SECONDS)
        for each in answer.groups:
            kind = (each.group_type or "classic").lower()
            found[each.group_id] = Group(each.group_id, kind, each.group_state, each.protocol_type, node)

    await of_all(ask(node) for node in node_ids)
    return found


class Committed(NamedTuple):
    offsets: dict[str, dict[TopicPartition, int]]  # by group
    spark: frozenset[str]  # groups whose offsets a Spark query of ours has committed


async def read_committed_offsets(
    nodes: AsyncNodes, groups: Iterable[Group], timeout_s: float = _ANSWER_SECONDS
) -> Committed:
    """OffsetFetch of everything that each group has committed, asked of the node that listed it."""
    of_node: dict[int, list[str]] = defaultdict(list)
    for group in groups:
        of_node[group.coordinator].append(group.name)
    found: dict[str, dict[TopicPartition, int]] = {}
    spark: set[str] = set()

    def learn(name: str, topics: Iterable[OffsetFetchResponseTopics | OffsetFetchResponseTopic]) -> None:
        offsets = found[name] = {}
        for topic in topics:
            for each in topic.partitions:
                if each.committed_offset >= 0:
                    offsets[topic.name, each.partition_index] = each.committed_offset
                    if is_of_spark(each.metadata):
                        spark.add(name)

    async def ask(node: int, names: list[str]) -> None:
        version = await nodes.newest_version(node, OFFSET_FETCH, 9)
        for asked in [names] if version >= _OF_MANY_GROUPS else [[name] for name in names]:
            body = {
                "groups": [{"group_id": name, "topics": None} for name in asked],
                "group_id": asked[0],
                "topics": None,
                "require_stable": False,
            }
            answer: OffsetFetchResponse = await nodes.ask(node, OFFSET_FETCH, body, version, timeout_s)
            for each in answer.groups if version >= _OF_MANY_GROUPS else ():
                if not each.error_code:
                    learn(each.group_id, each.topics)
            if version < _OF_MANY_GROUPS and not answer.error_code:
                learn(asked[0], answer.topics)

    await of_all(ask(node, names) for node, names in of_node.items())
    return Committed(found, frozenset(spark))


async def coordinator_of(nodes: AsyncNodes, group: str) -> int | None:
    """Asked now; None: there is none at the moment."""
    await nodes.find_coordinators(GROUP_KEY, [group])
    return nodes.view.coordinator(GROUP_KEY, group)


async def of_all(questions: Iterable[object]) -> None:
    """All at once. A node that has died or does not know the API leaves a gap, not a failure."""
    for problem in await asyncio.gather(*questions, return_exceptions=True):  # type: ignore[call-overload]
        if isinstance(problem, BaseException) and not isinstance(problem, LinkDown | UnknownApi):
            raise problem

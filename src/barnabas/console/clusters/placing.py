"""A cluster as a plan needs it, asked now: nodes, partitions, sizes of replicas, what is being moved, the quorum."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.console.clusters.facts import Facts
from barnabas.console.problems import Problem, refused
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.errors import LinkDown, UnknownApi
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_TOPIC
from barnabas.operate.placement.nouns import Broker, Partition
from barnabas.wire.apis import (
    ALTER_PARTITION_REASSIGNMENTS,
    DESCRIBE_CONFIGS,
    DESCRIBE_LOG_DIRS,
    DESCRIBE_QUORUM,
    ELECT_LEADERS,
    LIST_PARTITION_REASSIGNMENTS,
)

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        AlterPartitionReassignmentsResponse,
        DescribeConfigsResponse,
        DescribeLogDirsResponse,
        DescribeQuorumResponse,
        ElectLeadersResponse,
        ListPartitionReassignmentsResponse,
    )

_TIMEOUT_MS = 15_000
_ANSWER_SECONDS = 10.0
_TOPIC, _TOPICS_AT_ONCE, _PREFERRED = 2, 500, "leader.preferred.racks"  # Kafka's number of a topic
_NOTHING_TO_CANCEL = (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
Key = tuple[str, int]
ReplicaSizes = dict[tuple[str, int, int], int]


class UnderWay(NamedTuple):
    """A partition that is being moved."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class QuorumReplica(NamedTuple):
    id: int
    role: str  # leader, voter, observer
    lag: int | None  # records of the metadata log
    fetched_ms: int | None  # when the leader last heard of it
    caught_up_ms: int | None
    directory_id: bytes


class Quorum(NamedTuple):
    leader: int
    epoch: int
    high_watermark: int
    replicas: list[QuorumReplica]


def brokers_of(facts: Facts) -> list[Broker]:
    return [Broker(each.id, each.host, each.port, each.rack, not each.fenced) for each in facts.nodes.values()]


def partitions_of(facts: Facts) -> list[Partition]:
    return [
        Partition(topic.name, each.index, each.leader, each.replicas, each.in_sync)
        for topic in facts.topics.values()
        for each in topic.partitions
    ]


async def read_replica_sizes(nodes: AsyncNodes, node_ids: Iterable[int]) -> ReplicaSizes:
    """(topic, partition, node) -> bytes; a node that does not answer is left out."""
    found: ReplicaSizes = {}

    async def ask(node: int) -> None:
        answer: DescribeLogDirsResponse = await nodes.ask(
            node, DESCRIBE_LOG_DIRS, {"topics": None}, timeout_s=_ANSWER_SECONDS
        )
        for folder in answer.results:
            for topic in folder.topics:
                for part in topic.partitions:
                    if not part.is_future_key:
                        found[topic.name, part.partition_index, node] = part.partition_size

    problems = await asyncio.gather(*(ask(node) for node in node_ids), return_exceptions=True)
    for problem in problems:
        if problem is not None and not isinstance(problem, LinkDown | UnknownApi):
            raise problem
    return found


async def read_preferred_racks(
    nodes: AsyncNodes, brokers: Iterable[Broker], topics: Sequence[str]
) -> dict[str, list[str]]:
    """By topic, where its leaders should be (`leader.preferred.racks`); asked only where nodes name a zone."""
    found: dict[str, list[str]] = {}
    if any(each.rack for each in brokers):
        for first in range(0, len(topics), _TOPICS_AT_ONCE):
            asked = [
                {"resource_type": _TOPIC, "resource_name": each, "configuration_keys": [_PREFERRED]}
                for each in topics[first : first + _TOPICS_AT_ONCE]
            ]
            answer: DescribeConfigsResponse = await nodes.ask_any(DESCRIBE_CONFIGS, {"resources": asked})
            for result in answer.results:
                for each in result.configs or ():
                    if each.name == _PREFERRED and each.value:
                        found[result.resource_name] = [rack.strip() for rack in each.value.split(",")]
    return found


async def read_moves(nodes: AsyncNodes) -> list[UnderWay]:
    answer: ListPartitionReassignmentsResponse = await nodes.ask_any(
        LIST_PARTITION_REASSIGNMENTS, {"timeout_ms": _TIMEOUT_MS, "topics": None}
    )
    if answer.error_code:
        raise refused(answer.error_code, "what is being moved is not told", answer.error_message)
    return [
        UnderWay(
            topic.name,
            each.partition_index,
            tuple(each.replicas),
            tuple(each.adding_replicas),
            tuple(each.removing_replicas),
        )
        for topic in answer.topics
        for each in topic.partitions
    ]


async def reassign(nodes: AsyncNodes, wanted: Sequence[tuple[str, int, Sequence[int] | None]]) -> dict[Key, int]:
    """(topic, partition, new replicas; None takes a move back). Gives the error codes of those that were refused."""
    topics: dict[str, list[dict[str, object]]] = {}
    for topic, index, replicas in wanted:
        part: dict[str, object] = {"partition_index": index, "replicas": None if replicas is None else list(replicas)}
        topics.setdefault(topic, []).append(part)
    body = {
        "timeout_ms": _TIMEOUT_MS,
        "allow_replication_factor_change": True,
        "topics": [{"name": name, "partitions": partitions} for name, partitions in topics.items()],
    }
    answer: AlterPartitionReassignmentsResponse = await nodes.ask_any(ALTER_PARTITION_REASSIGNMENTS, body)
    if answer.error_code:
        raise refused(answer.error_code, "nothing was moved", answer.error_message)
    takes_back = {(topic, index) for topic, index, replicas in wanted if replicas is None}
    return {
        (topic.name, each.partition_index): each.error_code
        for topic in answer.responses
        for each in topic.partitions
        if each.error_code
        and not ((topic.name, each.partition_index) in takes_back and each.error_code in _NOTHING_TO_CANCEL)
    }


async def elect_preferred(nodes: AsyncNodes, partitions: Iterable[Key]) -> dict[Key, int]:
    """Leadership to the first replica of each; gives the error codes of those that it was refused for."""
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    wanted = [{"topic": name, "partitions": indexes} for name, indexes in topics.items()]
    body = {"election_type": 0, "topic_partitions": wanted, "timeout_ms": _TIMEOUT_MS}
    answer: ElectLeadersResponse = await nodes.ask_any(ELECT_LEADERS, body)
    if answer.error_code:
        raise refused(answer.error_code, "no leader was elected")
    return {
        (topic.topic, each.partition_id): each.error_code
        for topic in answer.replica_election_results
        for each in topic.partition_result
        if each.error_code and each.error_code != ErrorCode.ELECTION_NOT_NEEDED
    }


async def read_quorum(nodes: AsyncNodes) -> Quorum:
    asked = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]}
    answer: DescribeQuorumResponse = await nodes.ask_any(DESCRIBE_QUORUM, asked, timeout_s=_ANSWER_SECONDS)
    if answer.error_code:
        raise refused(answer.error_code, "the quorum is not told", answer.error_message)
    told = answer.topics[0].partitions[0]
    if told.error_code:
        raise Problem("the quorum has no leader at the moment", "Are more than half of the voters up?", 503)
    end = max((each.log_end_offset for each in told.current_voters), default=0)
    replicas = []
    for role, listed in (("voter", told.current_voters), ("observer", told.observers)):
        for each in listed:
            replicas.append(
                QuorumReplica(
                    each.replica_id,
                    "leader" if each.replica_id == told.leader_id else role,
                    end - each.log_end_offset if each.log_end_offset >= 0 else None,
                    _known(getattr(each, "last_fetch_timestamp", -1)),
                    _known(getattr(each, "last_caught_up_timestamp", -1)),
                    bytes(getattr(each, "replica_directory_id", bytes(16))),
                )
            )
    return Quorum(told.leader_id, told.leader_epoch, told.high_watermark, replicas)


def _known(time_ms: int) -> int | None:
    return time_ms if time_ms >= 0 else None

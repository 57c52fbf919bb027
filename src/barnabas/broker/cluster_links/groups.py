"""The offsets of groups: the same numbers as at the source, for the topics of the link.

An offset that lies beyond what has come over is brought as far as the log here goes, and again when more has come: a
consumer that goes on here never skips a record. A group that has members here keeps its own offsets.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.cluster_links.source import LATEST, LinkSettings
from barnabas.broker.peers.table import Peers
from barnabas.broker.roles import ConfiguredBroker
from barnabas.core.cluster.links import LINK_NAME
from barnabas.core.cluster.name_patterns import NamePatterns
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.codes import is_retriable, name_of
from barnabas.link.view import GROUP_KEY
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.limits import LINK_GROUPS_MAX
from barnabas.wire.apis import FIND_COORDINATOR, LIST_GROUPS, LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        FindCoordinatorResponse,
        ListGroupsResponse,
        ListOffsetsResponse,
        OffsetCommitResponse,
        OffsetFetchResponse,
    )

_AT_ONCE = 100
_LIST_GROUPS_NEWEST, _OFFSET_FETCH_NEWEST, _MANY_GROUPS_SINCE = 4, 8, 8
_FIND_COORDINATOR, _LIST_OFFSETS, _OFFSET_COMMIT = 4, 7, 8  # versions among our own nodes
_IN_USE = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS)
_SHOWN = 3


class Committed(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str


Offsets = dict[TopicPartition, Committed]


class GroupSync:
    def __init__(
        self, name: str, settings: LinkSettings, nodes: AsyncNodes, broker: ConfiguredBroker, peers: Peers
    ) -> None:
        self._name, self._nodes, self._broker, self._peers = name, nodes, broker, peers
        self._patterns = NamePatterns.of(settings.list("groups"), "groups")
        self._sent: dict[str, Offsets] = {}  # what was last committed here, by group
        self.offsets = 0  # how many were compared in the last round

    async def sync(self) -> list[str]:
        topics = {t.name for t in self._broker.image.topics.values() if t.configs.get(LINK_NAME) == self._name}
        if not topics:
            return []
        names, problems = await self._groups()
        self._sent = {name: sent for name, sent in self._sent.items() if name in names}
        news: dict[str, Offsets] = {}
        self.offsets = 0
        for at in range(0, len(names), _AT_ONCE):
            found = await self._source_offsets(names[at : at + _AT_ONCE])
            for group, offsets in found.items():
                self.offsets += len(offsets) or 1
                sent = self._sent.get(group, {})
                changed = {p: c for p, c in offsets.items() if p.topic in topics and sent.get(p) != c}
                if changed:
                    news[group] = changed
        if news:
            ends = await self._ends(dict.fromkeys(p for offsets in news.values() for p in offsets))
            problems += await self._commit(news, ends)
        return problems

    # --- the source ---------------------------------------------------------------------------------------------------

    async def _groups(self) -> tuple[list[str], list[str]]:
        found: set[str] = set()
        for node_id in await self._nodes.node_ids():
            answer: ListGroupsResponse = await self._nodes.ask(
                node_id, LIST_GROUPS, {"states_filter": [], "types_filter": []}, _LIST_GROUPS_NEWEST
            )
            kinds = ("", "consumer")
            found |= {
                g.group_id for g in answer.groups if g.protocol_type in kinds and self._patterns.match(g.group_id)
            }
        names = sorted(found)
        if len(names) > LINK_GROUPS_MAX:
            return names[:LINK_GROUPS_MAX], [f"{len(names)} groups: only {LINK_GROUPS_MAX} are brought over"]
        return names, []

    async def _source_offsets(self, groups: list[str]) -> dict[str, Offsets]:
        await self._nodes.find_coordinators(GROUP_KEY, groups)
        by_node: dict[int, list[str]] = defaultdict(list)
        for group in groups:
            node_id = self._nodes.view.coordinator(GROUP_KEY, group)
            if node_id is not None:
                by_node[node_id].append(group)
        found: dict[str, Offsets] = {}
        for node_id, names in by_node.items():
            body = {"groups": [{"group_id": name, "topics": None} for name in names], "require_stable": True}
            answer: OffsetFetchResponse = await self._nodes.ask(node_id, OFFSET_FETCH, body, _OFFSET_FETCH_NEWEST)
            for each in answer.groups:
                if not each.error_code:
                    found[each.group_id] = {
                        TopicPartition(topic.name, part.partition_index): Committed(
                            part.committed_offset, part.committed_leader_epoch, part.metadata or ""
                        )
                        for topic in each.topics
                        for part in topic.partitions
                        if part.committed_offset >= 0 and not part.error_code
                    }
        return found

    # --- here ---------------------------------------------------------------------------------------------------------

    async def _ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """How far each may be read here."""
        by_leader: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for topic, index in partitions:
            image = self._broker.image.partition(topic, index)
            if image is not None and image.leader >= 0:
                by_leader[image.leader][topic].append(index)
        ends: dict[TopicPartition, int] = {}
        for leader, topics in by_leader.items():
            asked = [
                {
                    "name": topic,
                    "partitions": [
                        {"partition_index": index, "current_leader_epoch": -1, "timestamp": LATEST} for index in indexes
                    ],
                }
                for topic, indexes in topics.items()
            ]
            body = {"replica_id": -1, "isolation_level": 0, "topics": asked}
            answer: ListOffsetsResponse = await self._peers.ask(leader, LIST_OFFSETS, _LIST_OFFSETS, body)
            for topic_ in answer.topics:
                for part in topic_.partitions:
                    if not part.error_code:
                        ends[TopicPartition(topic_.name, part.partition_index)] = part.offset
        return ends

    async def _commit(self, news: Mapping[str, Offsets], ends: Mapping[TopicPartition, int]) -> list[str]:
        problems: list[str] = []
        coordinators = await self._coordinators(list(news))
        for group, offsets in news.items():
            sent = self._sent.setdefault(group, {})
            reached = {p: c._replace(offset=min(c.offset, ends[p])) for p, c in offsets.items() if p in ends}
            due = {p: c for p, c in reached.items() if sent.get(p) != c}
            if not due or group not in coordinators:
                continue
            answer: OffsetCommitResponse = await self._peers.ask(
                coordinators[group], OFFSET_COMMIT, _OFFSET_COMMIT, _commit_body(group, due)
            )
            for topic in answer.topics:
                for part in topic.partitions:
                    partition, code = TopicPartition(topic.name, part.partition_index), part.error_code
                    if not code:
                        sent[partition] = due[partition]
                    elif code not in _IN_USE and not is_retriable(code) and len(problems) < _SHOWN:
                        problems.append(f"offsets of group {group!r}: {name_of(code)}")
        return problems

    async def _coordinators(self, groups: list[str]) -> dict[str, int]:
        """Asked of this node itself, which makes the topic of the offsets where there is none yet."""
        found: dict[str, int] = {}
        for at in range(0, len(groups), _AT_ONCE):
            body = {"key_type": GROUP_KEY, "coordinator_keys": groups[at : at + _AT_ONCE]}
            answer: FindCoordinatorResponse = await self._peers.ask(
                self._broker.node_id, FIND_COORDINATOR, _FIND_COORDINATOR, body
            )
            found |= {each.key: each.node_id for each in answer.coordinators if not each.error_code}
        return found


def _commit_body(group: str, offsets: Offsets) -> dict[str, object]:
    topics: dict[str, list[object]] = defaultdict(list)
    for partition, committed in offsets.items():
        topics[partition.topic].append(
            {
                "partition_index": partition.partition,
                "committed_offset": committed.offset,
                "committed_leader_epoch": committed.leader_epoch,
                "committed_metadata": committed.metadata,
            }
        )
    return {
        "group_id": group,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "group_instance_id": None,
        "topics": [{"name": name, "partitions": partitions} for name, partitions in topics.items()],
    }

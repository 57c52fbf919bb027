"""The offsets of all groups of a cluster, as `link verify` compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.wire.apis import FIND_COORDINATOR, LIST_GROUPS, OFFSET_FETCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from barnabas.cli.common.cluster import Cluster
    from barnabas.wire.messages import FindCoordinatorResponse, ListGroupsResponse, OffsetFetchResponse

_AT_ONCE = 100
_WITH_MEMBERS = ("Stable", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")

Places = dict[tuple[str, int], int]  # topic and partition: the next offset


def offsets(cluster: Cluster, topics: Mapping[bytes, str]) -> tuple[dict[str, Places], set[str]]:
    """What each group has committed for these topics, by their ids, and which groups have members now."""
    found: dict[str, Places] = {}
    active: set[str] = set()
    names: list[str] = []
    for node_id in sorted(cluster.brokers):
        listed: ListGroupsResponse = cluster.ask(node_id, LIST_GROUPS, {"states_filter": [], "types_filter": []})
        names += [group.group_id for group in listed.groups if group.protocol_type in ("", "consumer")]
        active |= {group.group_id for group in listed.groups if group.group_state in _WITH_MEMBERS}
    for at in range(0, len(names), _AT_ONCE):
        some = names[at : at + _AT_ONCE]
        where: FindCoordinatorResponse = cluster.ask_any(FIND_COORDINATOR, {"key_type": 0, "coordinator_keys": some})
        for each in where.coordinators:
            if not each.error_code:
                found[each.key] = _committed(cluster, each.node_id, each.key, topics)
    return {group: places for group, places in found.items() if places}, active


def _committed(cluster: Cluster, node_id: int, group: str, topics: Mapping[bytes, str]) -> Places:
    names = set(topics.values())
    body = {"groups": [{"group_id": group, "topics": None}], "require_stable": False}
    answer: OffsetFetchResponse = cluster.ask(node_id, OFFSET_FETCH, body)
    return {
        (name, part.partition_index): part.committed_offset
        for each in answer.groups
        for topic in each.topics
        if (name := topic.name or topics.get(topic.topic_id, "")) in names  # version 10 has ids only
        for part in topic.partitions
        if part.committed_offset >= 0
    }

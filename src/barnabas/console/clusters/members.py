"""Who is in a group and what each member owns: DescribeGroups for classic groups, ConsumerGroupDescribe for KIP-848."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING

from barnabas.console.clusters.facts import Group, Membership, TopicPartition
from barnabas.console.clusters.reading import of_all
from barnabas.link.async_nodes import AsyncNodes
from barnabas.wire.apis import CONSUMER_GROUP_DESCRIBE, DESCRIBE_GROUPS
from barnabas.wire.codec import decode_struct
from barnabas.wire.errors import ProtocolError

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        ConsumerGroupDescribeResponse,
        ConsumerGroupDescribeResponseAssignment,
        ConsumerProtocolAssignment,
        DescribeGroupsResponse,
    )

GROUPS_A_REQUEST = 100
_ANSWER_SECONDS = 10.0
_VERSION = Struct(">h")
_ASSIGNMENT_NEWEST = 3


@dataclass(frozen=True, slots=True)
class Member:
    id: str
    client_id: str
    host: str
    instance_id: str | None
    partitions: tuple[TopicPartition, ...]
    moving_to: tuple[TopicPartition, ...] | None = None  # KIP-848: what it is to own once others have let it go


@dataclass(frozen=True, slots=True)
class Described:
    state: str
    assignor: str
    members: tuple[Member, ...]
    error: int = 0
    message: str = ""


async def describe(nodes: AsyncNodes, groups: Iterable[Group]) -> dict[str, Described]:
    """Each asked of the node that listed it; groups of another kind, and those of nodes that are away, are left out."""
    asked: dict[tuple[int, str], list[str]] = defaultdict(list)
    for group in groups:
        asked[group.coordinator, group.kind].append(group.name)
    found: dict[str, Described] = {}

    async def ask(node: int, kind: str, names: list[str]) -> None:
        if kind == "classic":
            body: Mapping[str, object] = {"groups": names, "include_authorized_operations": False}
            found.update(_classic(await nodes.ask(node, DESCRIBE_GROUPS, body, timeout_s=_ANSWER_SECONDS)))
        elif kind == "consumer":
            body = {"group_ids": names, "include_authorized_operations": False}
            found.update(_consumer(await nodes.ask(node, CONSUMER_GROUP_DESCRIBE, body, timeout_s=_ANSWER_SECONDS)))

    await of_all(
        ask(node, kind, names[first : first + GROUPS_A_REQUEST])
        for (node, kind), names in asked.items()
        for first in range(0, len(names), GROUPS_A_REQUEST)
    )
    return found


def membership(described: Described) -> Membership:
    return Membership(
        len(described.members), frozenset(topic for member in described.members for topic, _ in member.partitions)
    )


def _classic(answer: DescribeGroupsResponse) -> dict[str, Described]:
    return {
        group.group_id: Described(
            group.group_state,
            group.protocol_data,
            tuple(
                Member(
                    each.member_id,
                    each.client_id,
                    each.client_host.lstrip("/"),
                    each.group_instance_id,
                    assignment(each.member_assignment) if group.protocol_type == "consumer" else (),
                )
                for each in group.members
            ),
            group.error_code,
            group.error_message or "",
        )
        for group in answer.groups
    }


def assignment(data: bytes | memoryview) -> tuple[TopicPartition, ...]:
    """ConsumerProtocolAssignment, which a member of the group has made; nothing where it is none."""
    try:
        (version,) = _VERSION.unpack_from(data, 0)
        told: ConsumerProtocolAssignment = decode_struct(
            "consumer_protocol_assignment", max(0, min(version, _ASSIGNMENT_NEWEST)), data, _VERSION.size
        )
    except (StructError, ProtocolError):
        return ()
    return tuple(sorted((each.topic, index) for each in told.assigned_partitions for index in each.partitions))


def _consumer(answer: ConsumerGroupDescribeResponse) -> dict[str, Described]:
    found = {}
    for group in answer.groups:
        members = []
        for each in group.members:
            owned, wanted = _owned(each.assignment), _owned(each.target_assignment)
            members.append(
                Member(
                    each.member_id,
                    each.client_id,
                    each.client_host.lstrip("/"),
                    each.instance_id,
                    owned,
                    None if owned == wanted else wanted,
                )
            )
        found[group.group_id] = Described(
            group.group_state, group.assignor_name, tuple(members), group.error_code, group.error_message or ""
        )
    return found


def _owned(told: ConsumerGroupDescribeResponseAssignment) -> tuple[TopicPartition, ...]:
    return tuple(sorted((each.topic_name, index) for each in told.topic_partitions for index in each.partitions))

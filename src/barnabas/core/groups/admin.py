"""ListGroups (0-5), DescribeGroups (0-6), ConsumerGroupDescribe (0-1), DeleteGroups (0-2): looking at groups.

Every function takes the ids the driver found to live in this shard. A group that is not there is described as Dead by
the old versions; DescribeGroups 6 says so with an error. States may be asked for in any spelling (KIP-518), types since
ListGroups 5 (KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from barnabas.core.groups.classic.group import ClassicGroup, ClassicState
from barnabas.core.groups.consumer.describe import describe
from barnabas.core.groups.offsets.delete import forget_all
from barnabas.core.groups.shard_state import ShardState
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        ConsumerGroupDescribeResponseDescribedGroupBody,
        DescribeGroupsResponseDescribedGroupBody,
        ListedGroupBody,
    )

_NOT_FOUND_SINCE = 6
_DEAD = "Dead"


def list_groups(world: ShardState, states: Iterable[str], types: Iterable[str]) -> Iterator[ListedGroupBody]:
    """The groups there are when it is called; whoever takes them may stop in between, also while some of them go."""
    wanted_states = {state.lower() for state in states}
    wanted_types = {kind.lower() for kind in types}
    for group in list(world.groups.values()):
        if isinstance(group, ClassicGroup):
            kind, protocol_type = "classic", group.protocol_type or ""
        else:
            kind, protocol_type = "consumer", "consumer"
        state = group.state.value
        if (wanted_states and state.lower() not in wanted_states) or (wanted_types and kind not in wanted_types):
            continue
        yield {
            "group_id": group.group_id,
            "protocol_type": protocol_type,
            "group_state": state,
            "group_type": kind,
        }


def describe_classic(world: ShardState, group_id: str, version: int) -> DescribeGroupsResponseDescribedGroupBody:
    group = world.groups.get(group_id)
    if not isinstance(group, ClassicGroup):
        answer: DescribeGroupsResponseDescribedGroupBody = {"group_id": group_id, "group_state": _DEAD, "error_code": 0}
        if version >= _NOT_FOUND_SINCE:
            answer["error_code"] = int(ErrorCode.GROUP_ID_NOT_FOUND)
            missing = "not found" if group is None else "is not a classic group"
            answer["error_message"] = f"Group {group_id} {missing}."
        return answer
    stable = group.state is ClassicState.STABLE
    return {
        "error_code": 0,
        "group_id": group_id,
        "group_state": group.state.value,
        "protocol_type": group.protocol_type or "",
        "protocol_data": (group.protocol_name or "") if stable else "",
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                # Between generations the protocol is not settled; the assignment is the last one.
                "member_metadata": member.metadata_for(group.protocol_name) if stable else b"",
                "member_assignment": member.assignment,
            }
            for member in group.members.values()
        ],
    }


def describe_consumer(world: ShardState, group_id: str) -> ConsumerGroupDescribeResponseDescribedGroupBody:
    if not group_id:
        return {"group_id": group_id, "error_code": int(ErrorCode.INVALID_GROUP_ID)}
    group = world.groups.get(group_id)
    if group is None or isinstance(group, ClassicGroup):
        missing = "not found" if group is None else "is not a consumer group"
        return {
            "group_id": group_id,
            "error_code": int(ErrorCode.GROUP_ID_NOT_FOUND),
            "error_message": f"Group {group_id} {missing}.",
        }
    return describe(world, group)


def delete_group(world: ShardState, group_id: str) -> ErrorCode:
    group = world.groups.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if not group.is_empty:
        return ErrorCode.NON_EMPTY_GROUP
    forget_all(world, group_id)
    group.bury(world)
    return ErrorCode.NONE

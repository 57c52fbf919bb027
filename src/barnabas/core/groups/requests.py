"""Which request goes where: the classic protocol, the consumer protocol, a migration between them, or the offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.core.coordinator.contract import B, RequestInfo, Token
from barnabas.core.groups import admin
from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.classic.heartbeat import heartbeat_classic
from barnabas.core.groups.classic.join import Join, check_new_classic, check_session_timeout, join_classic
from barnabas.core.groups.classic.leave import leave_answer, leave_classic, leaving_members
from barnabas.core.groups.classic.sync import sync_classic
from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.heartbeat import handle_consumer_heartbeat
from barnabas.core.groups.migration.classic_members import (
    heartbeat_classic_member,
    join_classic_member,
    leave_classic_member,
    sync_classic_member,
)
from barnabas.core.groups.offsets.commit import commit_offsets
from barnabas.core.groups.offsets.delete import delete_offsets
from barnabas.core.groups.offsets.fetch import handle_offset_fetch
from barnabas.core.groups.offsets.transactional import commit_in_transaction
from barnabas.core.groups.shard_state import ShardState, require_group_id
from barnabas.core.groups.sizes import check_join
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire import apis

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        ConsumerGroupDescribeRequest,
        ConsumerGroupDescribeResponseBody,
        DeleteGroupsRequest,
        DeleteGroupsResponseBody,
        DescribeGroupsRequest,
        DescribeGroupsResponseBody,
        HeartbeatRequest,
        HeartbeatResponseBody,
        JoinGroupRequest,
        JoinGroupResponseBody,
        LeaveGroupRequest,
        LeaveGroupResponseBody,
        ListGroupsRequest,
        ListGroupsResponseBody,
        OffsetDeleteRequest,
        OffsetDeleteResponseBody,
        Request,
        SyncGroupRequest,
        SyncGroupResponseBody,
    )

_SYNC_NAMES_PROTOCOL_SINCE = 5  # KIP-559

# Gives the answer. The API key says which request, and which answer.
Answering = Callable[[ShardState, Any, RequestInfo], Any]

# Replies by itself: later, or without waiting for what is not committed yet. The API key says which request.
Replying = Callable[[ShardState, Any, RequestInfo, Token[Any]], None]


def handle(world: ShardState, request: Request[B], info: RequestInfo, token: Token[B]) -> None:
    replying = _REPLYING.get(info.api_key)
    if replying is not None:
        replying(world, request, info, token)
    else:
        world.reply(token, ANSWERING[info.api_key](world, request, info))


def _join(world: ShardState, request: JoinGroupRequest, info: RequestInfo, token: Token[JoinGroupResponseBody]) -> None:
    join = Join.read(request, info, token)
    check_session_timeout(world, join)
    group = world.groups.get(join.group_id)
    check_join(world, group if isinstance(group, ClassicGroup) else None, join.member_id, join.protocols)
    if isinstance(group, ConsumerGroup):
        if group.members:
            join_classic_member(world, group, join)
            return
        check_new_classic(join)
        group.bury(world)  # an empty consumer group gives its name away
        group = None
    join_classic(world, group, join)


def _group(world: ShardState, group_id: str) -> ClassicGroup | ConsumerGroup:
    group = world.groups.get(require_group_id(group_id))
    if group is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"there is no group {group_id!r}")
    return group


def _sync(world: ShardState, request: SyncGroupRequest, info: RequestInfo, token: Token[SyncGroupResponseBody]) -> None:
    if info.api_version >= _SYNC_NAMES_PROTOCOL_SINCE and None in (request.protocol_type, request.protocol_name):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "this version names the protocol it synchronises")
    group = _group(world, request.group_id)
    if isinstance(group, ClassicGroup):
        sync_classic(world, group, request, token)
    else:
        world.reply(token, sync_classic_member(world, group, request))


def _heartbeat(
    world: ShardState, request: HeartbeatRequest, info: RequestInfo, token: Token[HeartbeatResponseBody]
) -> None:
    group = _group(world, request.group_id)
    if isinstance(group, ClassicGroup):
        code = heartbeat_classic(world, group, request)
    else:
        code = heartbeat_classic_member(world, group, request)
    answer: HeartbeatResponseBody = {"error_code": int(code)}
    world.reply(token, answer, after_commit=False)


def _leave(world: ShardState, request: LeaveGroupRequest, info: RequestInfo) -> LeaveGroupResponseBody:
    group = world.groups.get(require_group_id(request.group_id))
    if group is None:
        leaving = leaving_members(request, info.api_version)
        unknown = [(member_id, instance_id, ErrorCode.UNKNOWN_MEMBER_ID) for member_id, instance_id in leaving]
        return leave_answer(unknown, info.api_version)
    if isinstance(group, ClassicGroup):
        return leave_classic(world, group, request, info.api_version)
    return leave_classic_member(world, group, request, info.api_version)


def _offset_delete(world: ShardState, request: OffsetDeleteRequest, info: RequestInfo) -> OffsetDeleteResponseBody:
    require_group_id(request.group_id)
    return delete_offsets(world, request)


def _describe(world: ShardState, request: DescribeGroupsRequest, info: RequestInfo) -> DescribeGroupsResponseBody:
    return {"groups": [admin.describe_classic(world, group_id, info.api_version) for group_id in request.groups]}


def _describe_consumer(
    world: ShardState, request: ConsumerGroupDescribeRequest, info: RequestInfo
) -> ConsumerGroupDescribeResponseBody:
    return {"groups": [admin.describe_consumer(world, group_id) for group_id in request.group_ids]}


def _delete(world: ShardState, request: DeleteGroupsRequest, info: RequestInfo) -> DeleteGroupsResponseBody:
    return {
        "results": [
            {"group_id": group_id, "error_code": int(admin.delete_group(world, group_id))}
            for group_id in request.groups_names
        ]
    }


def _list(world: ShardState, request: ListGroupsRequest, info: RequestInfo) -> ListGroupsResponseBody:
    groups = list(admin.list_groups(world, request.states_filter, request.types_filter))
    return {"error_code": 0, "groups": groups}


_REPLYING: dict[int, Replying] = {
    apis.JOIN_GROUP: _join,
    apis.HEARTBEAT: _heartbeat,
    apis.SYNC_GROUP: _sync,
}
ANSWERING: dict[int, Answering] = {
    apis.OFFSET_COMMIT: commit_offsets,
    apis.OFFSET_FETCH: handle_offset_fetch,
    apis.LEAVE_GROUP: _leave,
    apis.DESCRIBE_GROUPS: _describe,
    apis.LIST_GROUPS: _list,
    apis.TXN_OFFSET_COMMIT: commit_in_transaction,
    apis.DELETE_GROUPS: _delete,
    apis.OFFSET_DELETE: _offset_delete,
    apis.CONSUMER_GROUP_HEARTBEAT: handle_consumer_heartbeat,
    apis.CONSUMER_GROUP_DESCRIBE: _describe_consumer,
}

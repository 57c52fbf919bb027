"""Which request goes where: the classic protocol, the consumer protocol, a migration between them, or the offsets."""

from collections.abc import Callable
from typing import Any

from barnabas.core.groups import admin
from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.classic.heartbeat import heartbeat_classic
from barnabas.core.groups.classic.join import Join, check_new_classic, check_session_timeout, join_classic
from barnabas.core.groups.classic.leave import leave_answer, leave_classic, leaving_members
from barnabas.core.groups.classic.sync import sync_classic
from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.heartbeat import handle_consumer_heartbeat
from barnabas.core.groups.effects import RequestInfo
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

_SYNC_NAMES_PROTOCOL_SINCE = 5  # KIP-559

Handler = Callable[[ShardState, Any, RequestInfo, object], None]


def _join(world: ShardState, request: Any, info: RequestInfo, token: object) -> None:
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


def _sync(world: ShardState, request: Any, info: RequestInfo, token: object) -> None:
    if info.api_version >= _SYNC_NAMES_PROTOCOL_SINCE and None in (request.protocol_type, request.protocol_name):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "this version names the protocol it synchronises")
    group = _group(world, request.group_id)
    if isinstance(group, ClassicGroup):
        sync_classic(world, group, request, token)
    else:
        sync_classic_member(world, group, request, token)


def _heartbeat(world: ShardState, request: Any, info: RequestInfo, token: object) -> None:
    group = _group(world, request.group_id)
    if isinstance(group, ClassicGroup):
        heartbeat_classic(world, group, request, token)
    else:
        heartbeat_classic_member(world, group, request, token)


def _leave(world: ShardState, request: Any, info: RequestInfo, token: object) -> None:
    group = world.groups.get(require_group_id(request.group_id))
    if group is None:
        leaving = leaving_members(request, info.api_version)
        unknown = [(member_id, instance_id, ErrorCode.UNKNOWN_MEMBER_ID) for member_id, instance_id in leaving]
        world.reply(token, leave_answer(unknown, info.api_version))
    elif isinstance(group, ClassicGroup):
        leave_classic(world, group, request, info.api_version, token)
    else:
        leave_classic_member(world, group, request, info.api_version, token)


def _offset_delete(world: ShardState, request: Any, info: RequestInfo, token: object) -> None:
    require_group_id(request.group_id)
    delete_offsets(world, request, token)


def _describe(world: ShardState, request: Any, info: RequestInfo, token: object) -> None:
    groups = [admin.describe_classic(world, group_id, info.api_version) for group_id in request.groups]
    world.reply(token, {"groups": groups})


def _describe_consumer(world: ShardState, request: Any, info: RequestInfo, token: object) -> None:
    world.reply(token, {"groups": [admin.describe_consumer(world, group_id) for group_id in request.group_ids]})


def _delete(world: ShardState, request: Any, info: RequestInfo, token: object) -> None:
    results = [
        {"group_id": group_id, "error_code": int(admin.delete_group(world, group_id))}
        for group_id in request.groups_names
    ]
    world.reply(token, {"results": results})


def _list(world: ShardState, request: Any, info: RequestInfo, token: object) -> None:
    groups = list(admin.list_groups(world, request.states_filter, request.types_filter))
    world.reply(token, {"error_code": 0, "groups": groups})


HANDLERS: dict[int, Handler] = {
    8: commit_offsets,
    9: handle_offset_fetch,
    11: _join,
    12: _heartbeat,
    13: _leave,
    14: _sync,
    15: _describe,
    16: _list,
    28: commit_in_transaction,
    42: _delete,
    47: _offset_delete,
    68: handle_consumer_heartbeat,
    69: _describe_consumer,
}

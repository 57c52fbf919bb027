"""The types of wire/schema/leave_group.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class MemberIdentity(Struct, kw_only=True):
    member_id: str = ...
    group_instance_id: str | None = ...
    reason: str | None = ...

class MemberIdentityBody(TypedDict, total=False):
    member_id: str
    group_instance_id: str | None
    reason: str | None

class LeaveGroupRequest(Request[LeaveGroupResponseBody], kw_only=True):
    group_id: str = ...
    member_id: str = ...
    members: list[MemberIdentity] = ...

class LeaveGroupRequestBody(TypedDict, total=False):
    group_id: str
    member_id: str
    members: Sequence[MemberIdentityBody]

class MemberResponse(Struct, kw_only=True):
    member_id: str = ...
    group_instance_id: str | None = ...
    error_code: int = ...

class MemberResponseBody(TypedDict, total=False):
    member_id: str
    group_instance_id: str | None
    error_code: int

class LeaveGroupResponse(Struct, kw_only=True):
    error_code: int = ...
    throttle_time_ms: int = ...
    members: list[MemberResponse] = ...

class LeaveGroupResponseBody(TypedDict, total=False):
    error_code: int
    throttle_time_ms: int
    members: Sequence[MemberResponseBody]

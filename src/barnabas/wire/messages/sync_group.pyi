"""The types of wire/schema/sync_group.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class SyncGroupRequestAssignment(Struct, kw_only=True):
    member_id: str = ...
    assignment: bytes = ...

class SyncGroupRequestAssignmentBody(TypedDict, total=False):
    member_id: str
    assignment: bytes | memoryview

class SyncGroupRequest(Request[SyncGroupResponseBody], kw_only=True):
    group_id: str = ...
    generation_id: int = ...
    member_id: str = ...
    assignments: list[SyncGroupRequestAssignment] = ...
    group_instance_id: str | None = ...
    protocol_type: str | None = ...
    protocol_name: str | None = ...

class SyncGroupRequestBody(TypedDict, total=False):
    group_id: str
    generation_id: int
    member_id: str
    assignments: Sequence[SyncGroupRequestAssignmentBody]
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None

class SyncGroupResponse(Struct, kw_only=True):
    error_code: int = ...
    assignment: bytes = ...
    throttle_time_ms: int = ...
    protocol_type: str | None = ...
    protocol_name: str | None = ...

class SyncGroupResponseBody(TypedDict, total=False):
    error_code: int
    assignment: bytes | memoryview
    throttle_time_ms: int
    protocol_type: str | None
    protocol_name: str | None

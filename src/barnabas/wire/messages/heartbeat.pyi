"""The types of wire/schema/heartbeat.json, made by tools/message_types.py."""

from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class HeartbeatRequest(Request[HeartbeatResponseBody], kw_only=True):
    group_id: str = ...
    generation_id: int = ...
    member_id: str = ...
    group_instance_id: str | None = ...

class HeartbeatRequestBody(TypedDict, total=False):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None

class HeartbeatResponse(Struct, kw_only=True):
    error_code: int = ...
    throttle_time_ms: int = ...

class HeartbeatResponseBody(TypedDict, total=False):
    error_code: int
    throttle_time_ms: int

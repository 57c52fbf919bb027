"""The types of wire/schema/share_group_heartbeat.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ShareGroupHeartbeatRequest(Request[ShareGroupHeartbeatResponseBody], kw_only=True):
    group_id: str = ...
    member_id: str = ...
    member_epoch: int = ...
    rack_id: str | None = ...
    subscribed_topic_names: list[str] | None = ...

class ShareGroupHeartbeatRequestBody(TypedDict, total=False):
    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None
    subscribed_topic_names: Sequence[str] | None

class ShareGroupHeartbeatResponseTopicPartitions(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[int] = ...

class ShareGroupHeartbeatResponseTopicPartitionsBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[int]

class ShareGroupHeartbeatResponseAssignment(Struct, kw_only=True):
    topic_partitions: list[ShareGroupHeartbeatResponseTopicPartitions] = ...

class ShareGroupHeartbeatResponseAssignmentBody(TypedDict, total=False):
    topic_partitions: Sequence[ShareGroupHeartbeatResponseTopicPartitionsBody]

class ShareGroupHeartbeatResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...
    member_id: str | None = ...
    member_epoch: int = ...
    heartbeat_interval_ms: int = ...
    assignment: ShareGroupHeartbeatResponseAssignment | None = ...

class ShareGroupHeartbeatResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: ShareGroupHeartbeatResponseAssignmentBody | None

"""The types of wire/schema/share_group_describe.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ShareGroupDescribeRequest(Request[ShareGroupDescribeResponseBody], kw_only=True):
    group_ids: list[str] = ...
    include_authorized_operations: bool = ...

class ShareGroupDescribeRequestBody(TypedDict, total=False):
    group_ids: Sequence[str]
    include_authorized_operations: bool

class ShareGroupDescribeResponseTopicPartitions(Struct, kw_only=True):
    topic_id: bytes = ...
    topic_name: str = ...
    partitions: list[int] = ...

class ShareGroupDescribeResponseTopicPartitionsBody(TypedDict, total=False):
    topic_id: bytes
    topic_name: str
    partitions: Sequence[int]

class ShareGroupDescribeResponseAssignment(Struct, kw_only=True):
    topic_partitions: list[ShareGroupDescribeResponseTopicPartitions] = ...

class ShareGroupDescribeResponseAssignmentBody(TypedDict, total=False):
    topic_partitions: Sequence[ShareGroupDescribeResponseTopicPartitionsBody]

class ShareGroupDescribeResponseMember(Struct, kw_only=True):
    member_id: str = ...
    rack_id: str | None = ...
    member_epoch: int = ...
    client_id: str = ...
    client_host: str = ...
    subscribed_topic_names: list[str] = ...
    assignment: ShareGroupDescribeResponseAssignment = ...

class ShareGroupDescribeResponseMemberBody(TypedDict, total=False):
    member_id: str
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: Sequence[str]
    assignment: ShareGroupDescribeResponseAssignmentBody

class ShareGroupDescribeResponseDescribedGroup(Struct, kw_only=True):
    error_code: int = ...
    error_message: str | None = ...
    group_id: str = ...
    group_state: str = ...
    group_epoch: int = ...
    assignment_epoch: int = ...
    assignor_name: str = ...
    members: list[ShareGroupDescribeResponseMember] = ...
    authorized_operations: int = ...

class ShareGroupDescribeResponseDescribedGroupBody(TypedDict, total=False):
    error_code: int
    error_message: str | None
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    members: Sequence[ShareGroupDescribeResponseMemberBody]
    authorized_operations: int

class ShareGroupDescribeResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    groups: list[ShareGroupDescribeResponseDescribedGroup] = ...

class ShareGroupDescribeResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    groups: Sequence[ShareGroupDescribeResponseDescribedGroupBody]

"""The types of wire/schema/describe_groups.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DescribeGroupsRequest(Request[DescribeGroupsResponseBody], kw_only=True):
    groups: list[str] = ...
    include_authorized_operations: bool = ...

class DescribeGroupsRequestBody(TypedDict, total=False):
    groups: Sequence[str]
    include_authorized_operations: bool

class DescribedGroupMember(Struct, kw_only=True):
    member_id: str = ...
    client_id: str = ...
    client_host: str = ...
    member_metadata: bytes = ...
    member_assignment: bytes = ...
    group_instance_id: str | None = ...

class DescribedGroupMemberBody(TypedDict, total=False):
    member_id: str
    client_id: str
    client_host: str
    member_metadata: bytes | memoryview
    member_assignment: bytes | memoryview
    group_instance_id: str | None

class DescribeGroupsResponseDescribedGroup(Struct, kw_only=True):
    error_code: int = ...
    group_id: str = ...
    group_state: str = ...
    protocol_type: str = ...
    protocol_data: str = ...
    members: list[DescribedGroupMember] = ...
    authorized_operations: int = ...
    error_message: str | None = ...

class DescribeGroupsResponseDescribedGroupBody(TypedDict, total=False):
    error_code: int
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: Sequence[DescribedGroupMemberBody]
    authorized_operations: int
    error_message: str | None

class DescribeGroupsResponse(Struct, kw_only=True):
    groups: list[DescribeGroupsResponseDescribedGroup] = ...
    throttle_time_ms: int = ...

class DescribeGroupsResponseBody(TypedDict, total=False):
    groups: Sequence[DescribeGroupsResponseDescribedGroupBody]
    throttle_time_ms: int

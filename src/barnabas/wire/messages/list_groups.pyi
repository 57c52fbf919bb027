"""The types of wire/schema/list_groups.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ListGroupsRequest(Request[ListGroupsResponseBody], kw_only=True):
    states_filter: list[str] = ...
    types_filter: list[str] = ...

class ListGroupsRequestBody(TypedDict, total=False):
    states_filter: Sequence[str]
    types_filter: Sequence[str]

class ListedGroup(Struct, kw_only=True):
    group_id: str = ...
    protocol_type: str = ...
    group_state: str = ...
    group_type: str = ...

class ListedGroupBody(TypedDict, total=False):
    group_id: str
    protocol_type: str
    group_state: str
    group_type: str

class ListGroupsResponse(Struct, kw_only=True):
    error_code: int = ...
    groups: list[ListedGroup] = ...
    throttle_time_ms: int = ...

class ListGroupsResponseBody(TypedDict, total=False):
    error_code: int
    groups: Sequence[ListedGroupBody]
    throttle_time_ms: int

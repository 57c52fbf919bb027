"""The types of wire/schema/delete_groups.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DeleteGroupsRequest(Request[DeleteGroupsResponseBody], kw_only=True):
    groups_names: list[str] = ...

class DeleteGroupsRequestBody(TypedDict, total=False):
    groups_names: Sequence[str]

class DeletableGroupResult(Struct, kw_only=True):
    group_id: str = ...
    error_code: int = ...

class DeletableGroupResultBody(TypedDict, total=False):
    group_id: str
    error_code: int

class DeleteGroupsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    results: list[DeletableGroupResult] = ...

class DeleteGroupsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    results: Sequence[DeletableGroupResultBody]

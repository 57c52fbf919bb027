"""The types of wire/schema/delete_share_group_state.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DeleteShareGroupStateRequestPartitionData(Struct, kw_only=True):
    partition: int = ...

class DeleteShareGroupStateRequestPartitionDataBody(TypedDict, total=False):
    partition: int

class DeleteStateData(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[DeleteShareGroupStateRequestPartitionData] = ...

class DeleteStateDataBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[DeleteShareGroupStateRequestPartitionDataBody]

class DeleteShareGroupStateRequest(Request[DeleteShareGroupStateResponseBody], kw_only=True):
    group_id: str = ...
    topics: list[DeleteStateData] = ...

class DeleteShareGroupStateRequestBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[DeleteStateDataBody]

class DeleteShareGroupStateResponsePartitionResult(Struct, kw_only=True):
    partition: int = ...
    error_code: int = ...
    error_message: str | None = ...

class DeleteShareGroupStateResponsePartitionResultBody(TypedDict, total=False):
    partition: int
    error_code: int
    error_message: str | None

class DeleteStateResult(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[DeleteShareGroupStateResponsePartitionResult] = ...

class DeleteStateResultBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[DeleteShareGroupStateResponsePartitionResultBody]

class DeleteShareGroupStateResponse(Struct, kw_only=True):
    results: list[DeleteStateResult] = ...

class DeleteShareGroupStateResponseBody(TypedDict, total=False):
    results: Sequence[DeleteStateResultBody]

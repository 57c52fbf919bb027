"""The types of wire/schema/initialize_share_group_state.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class InitializeShareGroupStateRequestPartitionData(Struct, kw_only=True):
    partition: int = ...
    state_epoch: int = ...
    start_offset: int = ...

class InitializeShareGroupStateRequestPartitionDataBody(TypedDict, total=False):
    partition: int
    state_epoch: int
    start_offset: int

class InitializeStateData(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[InitializeShareGroupStateRequestPartitionData] = ...

class InitializeStateDataBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[InitializeShareGroupStateRequestPartitionDataBody]

class InitializeShareGroupStateRequest(Request[InitializeShareGroupStateResponseBody], kw_only=True):
    group_id: str = ...
    topics: list[InitializeStateData] = ...

class InitializeShareGroupStateRequestBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[InitializeStateDataBody]

class InitializeShareGroupStateResponsePartitionResult(Struct, kw_only=True):
    partition: int = ...
    error_code: int = ...
    error_message: str | None = ...

class InitializeShareGroupStateResponsePartitionResultBody(TypedDict, total=False):
    partition: int
    error_code: int
    error_message: str | None

class InitializeStateResult(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[InitializeShareGroupStateResponsePartitionResult] = ...

class InitializeStateResultBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[InitializeShareGroupStateResponsePartitionResultBody]

class InitializeShareGroupStateResponse(Struct, kw_only=True):
    results: list[InitializeStateResult] = ...

class InitializeShareGroupStateResponseBody(TypedDict, total=False):
    results: Sequence[InitializeStateResultBody]

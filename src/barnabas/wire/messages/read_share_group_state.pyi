"""The types of wire/schema/read_share_group_state.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ReadShareGroupStateRequestPartitionData(Struct, kw_only=True):
    partition: int = ...
    leader_epoch: int = ...

class ReadShareGroupStateRequestPartitionDataBody(TypedDict, total=False):
    partition: int
    leader_epoch: int

class ReadStateData(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[ReadShareGroupStateRequestPartitionData] = ...

class ReadStateDataBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[ReadShareGroupStateRequestPartitionDataBody]

class ReadShareGroupStateRequest(Request[ReadShareGroupStateResponseBody], kw_only=True):
    group_id: str = ...
    topics: list[ReadStateData] = ...

class ReadShareGroupStateRequestBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[ReadStateDataBody]

class ReadShareGroupStateResponseStateBatch(Struct, kw_only=True):
    first_offset: int = ...
    last_offset: int = ...
    delivery_state: int = ...
    delivery_count: int = ...

class ReadShareGroupStateResponseStateBatchBody(TypedDict, total=False):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

class ReadShareGroupStateResponsePartitionResult(Struct, kw_only=True):
    partition: int = ...
    error_code: int = ...
    error_message: str | None = ...
    state_epoch: int = ...
    start_offset: int = ...
    state_batches: list[ReadShareGroupStateResponseStateBatch] = ...

class ReadShareGroupStateResponsePartitionResultBody(TypedDict, total=False):
    partition: int
    error_code: int
    error_message: str | None
    state_epoch: int
    start_offset: int
    state_batches: Sequence[ReadShareGroupStateResponseStateBatchBody]

class ReadStateResult(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[ReadShareGroupStateResponsePartitionResult] = ...

class ReadStateResultBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[ReadShareGroupStateResponsePartitionResultBody]

class ReadShareGroupStateResponse(Struct, kw_only=True):
    results: list[ReadStateResult] = ...

class ReadShareGroupStateResponseBody(TypedDict, total=False):
    results: Sequence[ReadStateResultBody]

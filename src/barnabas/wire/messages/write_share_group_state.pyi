"""The types of wire/schema/write_share_group_state.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class WriteShareGroupStateRequestStateBatch(Struct, kw_only=True):
    first_offset: int = ...
    last_offset: int = ...
    delivery_state: int = ...
    delivery_count: int = ...

class WriteShareGroupStateRequestStateBatchBody(TypedDict, total=False):
    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

class WriteShareGroupStateRequestPartitionData(Struct, kw_only=True):
    partition: int = ...
    state_epoch: int = ...
    leader_epoch: int = ...
    start_offset: int = ...
    state_batches: list[WriteShareGroupStateRequestStateBatch] = ...
    delivery_complete_count: int = ...

class WriteShareGroupStateRequestPartitionDataBody(TypedDict, total=False):
    partition: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    state_batches: Sequence[WriteShareGroupStateRequestStateBatchBody]
    delivery_complete_count: int

class WriteStateData(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[WriteShareGroupStateRequestPartitionData] = ...

class WriteStateDataBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[WriteShareGroupStateRequestPartitionDataBody]

class WriteShareGroupStateRequest(Request[WriteShareGroupStateResponseBody], kw_only=True):
    group_id: str = ...
    topics: list[WriteStateData] = ...

class WriteShareGroupStateRequestBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[WriteStateDataBody]

class WriteShareGroupStateResponsePartitionResult(Struct, kw_only=True):
    partition: int = ...
    error_code: int = ...
    error_message: str | None = ...

class WriteShareGroupStateResponsePartitionResultBody(TypedDict, total=False):
    partition: int
    error_code: int
    error_message: str | None

class WriteStateResult(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[WriteShareGroupStateResponsePartitionResult] = ...

class WriteStateResultBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[WriteShareGroupStateResponsePartitionResultBody]

class WriteShareGroupStateResponse(Struct, kw_only=True):
    results: list[WriteStateResult] = ...

class WriteShareGroupStateResponseBody(TypedDict, total=False):
    results: Sequence[WriteStateResultBody]

"""The types of wire/schema/list_offsets.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ListOffsetsPartition(Struct, kw_only=True):
    partition_index: int = ...
    timestamp: int = ...
    current_leader_epoch: int = ...

class ListOffsetsPartitionBody(TypedDict, total=False):
    partition_index: int
    timestamp: int
    current_leader_epoch: int

class ListOffsetsTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[ListOffsetsPartition] = ...

class ListOffsetsTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[ListOffsetsPartitionBody]

class ListOffsetsRequest(Request[ListOffsetsResponseBody], kw_only=True):
    replica_id: int = ...
    topics: list[ListOffsetsTopic] = ...
    isolation_level: int = ...
    timeout_ms: int = ...

class ListOffsetsRequestBody(TypedDict, total=False):
    replica_id: int
    topics: Sequence[ListOffsetsTopicBody]
    isolation_level: int
    timeout_ms: int

class ListOffsetsPartitionResponse(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...
    timestamp: int = ...
    offset: int = ...
    leader_epoch: int = ...

class ListOffsetsPartitionResponseBody(TypedDict, total=False):
    partition_index: int
    error_code: int
    timestamp: int
    offset: int
    leader_epoch: int

class ListOffsetsTopicResponse(Struct, kw_only=True):
    name: str = ...
    partitions: list[ListOffsetsPartitionResponse] = ...

class ListOffsetsTopicResponseBody(TypedDict, total=False):
    name: str
    partitions: Sequence[ListOffsetsPartitionResponseBody]

class ListOffsetsResponse(Struct, kw_only=True):
    topics: list[ListOffsetsTopicResponse] = ...
    throttle_time_ms: int = ...

class ListOffsetsResponseBody(TypedDict, total=False):
    topics: Sequence[ListOffsetsTopicResponseBody]
    throttle_time_ms: int

"""The types of wire/schema/offset_delete.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class OffsetDeleteRequestPartition(Struct, kw_only=True):
    partition_index: int = ...

class OffsetDeleteRequestPartitionBody(TypedDict, total=False):
    partition_index: int

class OffsetDeleteRequestTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[OffsetDeleteRequestPartition] = ...

class OffsetDeleteRequestTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[OffsetDeleteRequestPartitionBody]

class OffsetDeleteRequest(Request[OffsetDeleteResponseBody], kw_only=True):
    group_id: str = ...
    topics: list[OffsetDeleteRequestTopic] = ...

class OffsetDeleteRequestBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[OffsetDeleteRequestTopicBody]

class OffsetDeleteResponsePartition(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...

class OffsetDeleteResponsePartitionBody(TypedDict, total=False):
    partition_index: int
    error_code: int

class OffsetDeleteResponseTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[OffsetDeleteResponsePartition] = ...

class OffsetDeleteResponseTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[OffsetDeleteResponsePartitionBody]

class OffsetDeleteResponse(Struct, kw_only=True):
    error_code: int = ...
    throttle_time_ms: int = ...
    topics: list[OffsetDeleteResponseTopic] = ...

class OffsetDeleteResponseBody(TypedDict, total=False):
    error_code: int
    throttle_time_ms: int
    topics: Sequence[OffsetDeleteResponseTopicBody]

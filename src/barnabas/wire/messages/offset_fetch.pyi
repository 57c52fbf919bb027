"""The types of wire/schema/offset_fetch.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class OffsetFetchRequestTopic(Struct, kw_only=True):
    name: str = ...
    partition_indexes: list[int] = ...

class OffsetFetchRequestTopicBody(TypedDict, total=False):
    name: str
    partition_indexes: Sequence[int]

class OffsetFetchRequestTopics(Struct, kw_only=True):
    name: str = ...
    partition_indexes: list[int] = ...
    topic_id: bytes = ...

class OffsetFetchRequestTopicsBody(TypedDict, total=False):
    name: str
    partition_indexes: Sequence[int]
    topic_id: bytes

class OffsetFetchRequestGroup(Struct, kw_only=True):
    group_id: str = ...
    topics: list[OffsetFetchRequestTopics] | None = ...
    member_id: str | None = ...
    member_epoch: int = ...

class OffsetFetchRequestGroupBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[OffsetFetchRequestTopicsBody] | None
    member_id: str | None
    member_epoch: int

class OffsetFetchRequest(Request[OffsetFetchResponseBody], kw_only=True):
    group_id: str = ...
    topics: list[OffsetFetchRequestTopic] | None = ...
    require_stable: bool = ...
    groups: list[OffsetFetchRequestGroup] = ...

class OffsetFetchRequestBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[OffsetFetchRequestTopicBody] | None
    require_stable: bool
    groups: Sequence[OffsetFetchRequestGroupBody]

class OffsetFetchResponsePartition(Struct, kw_only=True):
    partition_index: int = ...
    committed_offset: int = ...
    metadata: str | None = ...
    error_code: int = ...
    committed_leader_epoch: int = ...

class OffsetFetchResponsePartitionBody(TypedDict, total=False):
    partition_index: int
    committed_offset: int
    metadata: str | None
    error_code: int
    committed_leader_epoch: int

class OffsetFetchResponseTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[OffsetFetchResponsePartition] = ...

class OffsetFetchResponseTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[OffsetFetchResponsePartitionBody]

class OffsetFetchResponsePartitions(Struct, kw_only=True):
    partition_index: int = ...
    committed_offset: int = ...
    committed_leader_epoch: int = ...
    metadata: str | None = ...
    error_code: int = ...

class OffsetFetchResponsePartitionsBody(TypedDict, total=False):
    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    metadata: str | None
    error_code: int

class OffsetFetchResponseTopics(Struct, kw_only=True):
    name: str = ...
    partitions: list[OffsetFetchResponsePartitions] = ...
    topic_id: bytes = ...

class OffsetFetchResponseTopicsBody(TypedDict, total=False):
    name: str
    partitions: Sequence[OffsetFetchResponsePartitionsBody]
    topic_id: bytes

class OffsetFetchResponseGroup(Struct, kw_only=True):
    group_id: str = ...
    topics: list[OffsetFetchResponseTopics] = ...
    error_code: int = ...

class OffsetFetchResponseGroupBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[OffsetFetchResponseTopicsBody]
    error_code: int

class OffsetFetchResponse(Struct, kw_only=True):
    topics: list[OffsetFetchResponseTopic] = ...
    error_code: int = ...
    throttle_time_ms: int = ...
    groups: list[OffsetFetchResponseGroup] = ...

class OffsetFetchResponseBody(TypedDict, total=False):
    topics: Sequence[OffsetFetchResponseTopicBody]
    error_code: int
    throttle_time_ms: int
    groups: Sequence[OffsetFetchResponseGroupBody]

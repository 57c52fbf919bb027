"""The types of wire/schema/describe_share_group_offsets.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DescribeShareGroupOffsetsRequestTopic(Struct, kw_only=True):
    topic_name: str = ...
    partitions: list[int] = ...

class DescribeShareGroupOffsetsRequestTopicBody(TypedDict, total=False):
    topic_name: str
    partitions: Sequence[int]

class DescribeShareGroupOffsetsRequestGroup(Struct, kw_only=True):
    group_id: str = ...
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = ...

class DescribeShareGroupOffsetsRequestGroupBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[DescribeShareGroupOffsetsRequestTopicBody] | None

class DescribeShareGroupOffsetsRequest(Request[DescribeShareGroupOffsetsResponseBody], kw_only=True):
    groups: list[DescribeShareGroupOffsetsRequestGroup] = ...

class DescribeShareGroupOffsetsRequestBody(TypedDict, total=False):
    groups: Sequence[DescribeShareGroupOffsetsRequestGroupBody]

class DescribeShareGroupOffsetsResponsePartition(Struct, kw_only=True):
    partition_index: int = ...
    start_offset: int = ...
    leader_epoch: int = ...
    error_code: int = ...
    error_message: str | None = ...
    lag: int = ...

class DescribeShareGroupOffsetsResponsePartitionBody(TypedDict, total=False):
    partition_index: int
    start_offset: int
    leader_epoch: int
    error_code: int
    error_message: str | None
    lag: int

class DescribeShareGroupOffsetsResponseTopic(Struct, kw_only=True):
    topic_name: str = ...
    topic_id: bytes = ...
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = ...

class DescribeShareGroupOffsetsResponseTopicBody(TypedDict, total=False):
    topic_name: str
    topic_id: bytes
    partitions: Sequence[DescribeShareGroupOffsetsResponsePartitionBody]

class DescribeShareGroupOffsetsResponseGroup(Struct, kw_only=True):
    group_id: str = ...
    topics: list[DescribeShareGroupOffsetsResponseTopic] = ...
    error_code: int = ...
    error_message: str | None = ...

class DescribeShareGroupOffsetsResponseGroupBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[DescribeShareGroupOffsetsResponseTopicBody]
    error_code: int
    error_message: str | None

class DescribeShareGroupOffsetsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    groups: list[DescribeShareGroupOffsetsResponseGroup] = ...

class DescribeShareGroupOffsetsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    groups: Sequence[DescribeShareGroupOffsetsResponseGroupBody]

"""The types of wire/schema/describe_log_dirs.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DescribableLogDirTopic(Struct, kw_only=True):
    topic: str = ...
    partitions: list[int] = ...

class DescribableLogDirTopicBody(TypedDict, total=False):
    topic: str
    partitions: Sequence[int]

class DescribeLogDirsRequest(Request[DescribeLogDirsResponseBody], kw_only=True):
    topics: list[DescribableLogDirTopic] | None = ...

class DescribeLogDirsRequestBody(TypedDict, total=False):
    topics: Sequence[DescribableLogDirTopicBody] | None

class DescribeLogDirsPartition(Struct, kw_only=True):
    partition_index: int = ...
    partition_size: int = ...
    offset_lag: int = ...
    is_future_key: bool = ...

class DescribeLogDirsPartitionBody(TypedDict, total=False):
    partition_index: int
    partition_size: int
    offset_lag: int
    is_future_key: bool

class DescribeLogDirsTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[DescribeLogDirsPartition] = ...

class DescribeLogDirsTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[DescribeLogDirsPartitionBody]

class DescribeLogDirsResult(Struct, kw_only=True):
    error_code: int = ...
    log_dir: str = ...
    topics: list[DescribeLogDirsTopic] = ...
    total_bytes: int = ...
    usable_bytes: int = ...
    is_cordoned: bool = ...

class DescribeLogDirsResultBody(TypedDict, total=False):
    error_code: int
    log_dir: str
    topics: Sequence[DescribeLogDirsTopicBody]
    total_bytes: int
    usable_bytes: int
    is_cordoned: bool

class DescribeLogDirsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    results: list[DescribeLogDirsResult] = ...
    error_code: int = ...

class DescribeLogDirsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    results: Sequence[DescribeLogDirsResultBody]
    error_code: int

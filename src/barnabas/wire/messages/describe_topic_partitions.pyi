"""The types of wire/schema/describe_topic_partitions.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DescribeTopicPartitionsRequestTopicRequest(Struct, kw_only=True):
    name: str = ...

class DescribeTopicPartitionsRequestTopicRequestBody(TypedDict, total=False):
    name: str

class DescribeTopicPartitionsRequestCursor(Struct, kw_only=True):
    topic_name: str = ...
    partition_index: int = ...

class DescribeTopicPartitionsRequestCursorBody(TypedDict, total=False):
    topic_name: str
    partition_index: int

class DescribeTopicPartitionsRequest(Request[DescribeTopicPartitionsResponseBody], kw_only=True):
    topics: list[DescribeTopicPartitionsRequestTopicRequest] = ...
    response_partition_limit: int = ...
    cursor: DescribeTopicPartitionsRequestCursor | None = ...

class DescribeTopicPartitionsRequestBody(TypedDict, total=False):
    topics: Sequence[DescribeTopicPartitionsRequestTopicRequestBody]
    response_partition_limit: int
    cursor: DescribeTopicPartitionsRequestCursorBody | None

class DescribeTopicPartitionsResponsePartition(Struct, kw_only=True):
    error_code: int = ...
    partition_index: int = ...
    leader_id: int = ...
    leader_epoch: int = ...
    replica_nodes: list[int] = ...
    isr_nodes: list[int] = ...
    eligible_leader_replicas: list[int] | None = ...
    last_known_elr: list[int] | None = ...
    offline_replicas: list[int] = ...

class DescribeTopicPartitionsResponsePartitionBody(TypedDict, total=False):
    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: Sequence[int]
    isr_nodes: Sequence[int]
    eligible_leader_replicas: Sequence[int] | None
    last_known_elr: Sequence[int] | None
    offline_replicas: Sequence[int]

class DescribeTopicPartitionsResponseTopic(Struct, kw_only=True):
    error_code: int = ...
    name: str | None = ...
    topic_id: bytes = ...
    is_internal: bool = ...
    partitions: list[DescribeTopicPartitionsResponsePartition] = ...
    topic_authorized_operations: int = ...

class DescribeTopicPartitionsResponseTopicBody(TypedDict, total=False):
    error_code: int
    name: str | None
    topic_id: bytes
    is_internal: bool
    partitions: Sequence[DescribeTopicPartitionsResponsePartitionBody]
    topic_authorized_operations: int

class DescribeTopicPartitionsResponseCursor(Struct, kw_only=True):
    topic_name: str = ...
    partition_index: int = ...

class DescribeTopicPartitionsResponseCursorBody(TypedDict, total=False):
    topic_name: str
    partition_index: int

class DescribeTopicPartitionsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    topics: list[DescribeTopicPartitionsResponseTopic] = ...
    next_cursor: DescribeTopicPartitionsResponseCursor | None = ...

class DescribeTopicPartitionsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    topics: Sequence[DescribeTopicPartitionsResponseTopicBody]
    next_cursor: DescribeTopicPartitionsResponseCursorBody | None

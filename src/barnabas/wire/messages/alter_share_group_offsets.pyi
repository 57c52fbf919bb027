"""The types of wire/schema/alter_share_group_offsets.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class AlterShareGroupOffsetsRequestPartition(Struct, kw_only=True):
    partition_index: int = ...
    start_offset: int = ...

class AlterShareGroupOffsetsRequestPartitionBody(TypedDict, total=False):
    partition_index: int
    start_offset: int

class AlterShareGroupOffsetsRequestTopic(Struct, kw_only=True):
    topic_name: str = ...
    partitions: list[AlterShareGroupOffsetsRequestPartition] = ...

class AlterShareGroupOffsetsRequestTopicBody(TypedDict, total=False):
    topic_name: str
    partitions: Sequence[AlterShareGroupOffsetsRequestPartitionBody]

class AlterShareGroupOffsetsRequest(Request[AlterShareGroupOffsetsResponseBody], kw_only=True):
    group_id: str = ...
    topics: list[AlterShareGroupOffsetsRequestTopic] = ...

class AlterShareGroupOffsetsRequestBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[AlterShareGroupOffsetsRequestTopicBody]

class AlterShareGroupOffsetsResponsePartition(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...
    error_message: str | None = ...

class AlterShareGroupOffsetsResponsePartitionBody(TypedDict, total=False):
    partition_index: int
    error_code: int
    error_message: str | None

class AlterShareGroupOffsetsResponseTopic(Struct, kw_only=True):
    topic_name: str = ...
    topic_id: bytes = ...
    partitions: list[AlterShareGroupOffsetsResponsePartition] = ...

class AlterShareGroupOffsetsResponseTopicBody(TypedDict, total=False):
    topic_name: str
    topic_id: bytes
    partitions: Sequence[AlterShareGroupOffsetsResponsePartitionBody]

class AlterShareGroupOffsetsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...
    responses: list[AlterShareGroupOffsetsResponseTopic] = ...

class AlterShareGroupOffsetsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: Sequence[AlterShareGroupOffsetsResponseTopicBody]

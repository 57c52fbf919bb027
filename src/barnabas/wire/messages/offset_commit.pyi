"""The types of wire/schema/offset_commit.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class OffsetCommitRequestPartition(Struct, kw_only=True):
    partition_index: int = ...
    committed_offset: int = ...
    committed_metadata: str | None = ...
    committed_leader_epoch: int = ...

class OffsetCommitRequestPartitionBody(TypedDict, total=False):
    partition_index: int
    committed_offset: int
    committed_metadata: str | None
    committed_leader_epoch: int

class OffsetCommitRequestTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[OffsetCommitRequestPartition] = ...
    topic_id: bytes = ...

class OffsetCommitRequestTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[OffsetCommitRequestPartitionBody]
    topic_id: bytes

class OffsetCommitRequest(Request[OffsetCommitResponseBody], kw_only=True):
    group_id: str = ...
    generation_id_or_member_epoch: int = ...
    member_id: str = ...
    retention_time_ms: int = ...
    topics: list[OffsetCommitRequestTopic] = ...
    group_instance_id: str | None = ...

class OffsetCommitRequestBody(TypedDict, total=False):
    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    retention_time_ms: int
    topics: Sequence[OffsetCommitRequestTopicBody]
    group_instance_id: str | None

class OffsetCommitResponsePartition(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...

class OffsetCommitResponsePartitionBody(TypedDict, total=False):
    partition_index: int
    error_code: int

class OffsetCommitResponseTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[OffsetCommitResponsePartition] = ...
    topic_id: bytes = ...

class OffsetCommitResponseTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[OffsetCommitResponsePartitionBody]
    topic_id: bytes

class OffsetCommitResponse(Struct, kw_only=True):
    topics: list[OffsetCommitResponseTopic] = ...
    throttle_time_ms: int = ...

class OffsetCommitResponseBody(TypedDict, total=False):
    topics: Sequence[OffsetCommitResponseTopicBody]
    throttle_time_ms: int

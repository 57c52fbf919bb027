"""The types of wire/schema/delete_records.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DeleteRecordsPartition(Struct, kw_only=True):
    partition_index: int = ...
    offset: int = ...

class DeleteRecordsPartitionBody(TypedDict, total=False):
    partition_index: int
    offset: int

class DeleteRecordsTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[DeleteRecordsPartition] = ...

class DeleteRecordsTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[DeleteRecordsPartitionBody]

class DeleteRecordsRequest(Request[DeleteRecordsResponseBody], kw_only=True):
    topics: list[DeleteRecordsTopic] = ...
    timeout_ms: int = ...

class DeleteRecordsRequestBody(TypedDict, total=False):
    topics: Sequence[DeleteRecordsTopicBody]
    timeout_ms: int

class DeleteRecordsPartitionResult(Struct, kw_only=True):
    partition_index: int = ...
    low_watermark: int = ...
    error_code: int = ...

class DeleteRecordsPartitionResultBody(TypedDict, total=False):
    partition_index: int
    low_watermark: int
    error_code: int

class DeleteRecordsTopicResult(Struct, kw_only=True):
    name: str = ...
    partitions: list[DeleteRecordsPartitionResult] = ...

class DeleteRecordsTopicResultBody(TypedDict, total=False):
    name: str
    partitions: Sequence[DeleteRecordsPartitionResultBody]

class DeleteRecordsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    topics: list[DeleteRecordsTopicResult] = ...

class DeleteRecordsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    topics: Sequence[DeleteRecordsTopicResultBody]

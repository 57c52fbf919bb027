"""The types of wire/schema/alter_partition_reassignments.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ReassignablePartition(Struct, kw_only=True):
    partition_index: int = ...
    replicas: list[int] | None = ...

class ReassignablePartitionBody(TypedDict, total=False):
    partition_index: int
    replicas: Sequence[int] | None

class ReassignableTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[ReassignablePartition] = ...

class ReassignableTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[ReassignablePartitionBody]

class AlterPartitionReassignmentsRequest(Request[AlterPartitionReassignmentsResponseBody], kw_only=True):
    timeout_ms: int = ...
    topics: list[ReassignableTopic] = ...
    allow_replication_factor_change: bool = ...

class AlterPartitionReassignmentsRequestBody(TypedDict, total=False):
    timeout_ms: int
    topics: Sequence[ReassignableTopicBody]
    allow_replication_factor_change: bool

class ReassignablePartitionResponse(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...
    error_message: str | None = ...

class ReassignablePartitionResponseBody(TypedDict, total=False):
    partition_index: int
    error_code: int
    error_message: str | None

class ReassignableTopicResponse(Struct, kw_only=True):
    name: str = ...
    partitions: list[ReassignablePartitionResponse] = ...

class ReassignableTopicResponseBody(TypedDict, total=False):
    name: str
    partitions: Sequence[ReassignablePartitionResponseBody]

class AlterPartitionReassignmentsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...
    responses: list[ReassignableTopicResponse] = ...
    allow_replication_factor_change: bool = ...

class AlterPartitionReassignmentsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: Sequence[ReassignableTopicResponseBody]
    allow_replication_factor_change: bool

"""The types of wire/schema/list_partition_reassignments.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ListPartitionReassignmentsTopics(Struct, kw_only=True):
    name: str = ...
    partition_indexes: list[int] = ...

class ListPartitionReassignmentsTopicsBody(TypedDict, total=False):
    name: str
    partition_indexes: Sequence[int]

class ListPartitionReassignmentsRequest(Request[ListPartitionReassignmentsResponseBody], kw_only=True):
    timeout_ms: int = ...
    topics: list[ListPartitionReassignmentsTopics] | None = ...

class ListPartitionReassignmentsRequestBody(TypedDict, total=False):
    timeout_ms: int
    topics: Sequence[ListPartitionReassignmentsTopicsBody] | None

class OngoingPartitionReassignment(Struct, kw_only=True):
    partition_index: int = ...
    replicas: list[int] = ...
    adding_replicas: list[int] = ...
    removing_replicas: list[int] = ...

class OngoingPartitionReassignmentBody(TypedDict, total=False):
    partition_index: int
    replicas: Sequence[int]
    adding_replicas: Sequence[int]
    removing_replicas: Sequence[int]

class OngoingTopicReassignment(Struct, kw_only=True):
    name: str = ...
    partitions: list[OngoingPartitionReassignment] = ...

class OngoingTopicReassignmentBody(TypedDict, total=False):
    name: str
    partitions: Sequence[OngoingPartitionReassignmentBody]

class ListPartitionReassignmentsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...
    topics: list[OngoingTopicReassignment] = ...

class ListPartitionReassignmentsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    topics: Sequence[OngoingTopicReassignmentBody]

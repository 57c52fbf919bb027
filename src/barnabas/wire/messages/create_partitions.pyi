"""The types of wire/schema/create_partitions.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class CreatePartitionsAssignment(Struct, kw_only=True):
    broker_ids: list[int] = ...

class CreatePartitionsAssignmentBody(TypedDict, total=False):
    broker_ids: Sequence[int]

class CreatePartitionsTopic(Struct, kw_only=True):
    name: str = ...
    count: int = ...
    assignments: list[CreatePartitionsAssignment] | None = ...

class CreatePartitionsTopicBody(TypedDict, total=False):
    name: str
    count: int
    assignments: Sequence[CreatePartitionsAssignmentBody] | None

class CreatePartitionsRequest(Request[CreatePartitionsResponseBody], kw_only=True):
    topics: list[CreatePartitionsTopic] = ...
    timeout_ms: int = ...
    validate_only: bool = ...

class CreatePartitionsRequestBody(TypedDict, total=False):
    topics: Sequence[CreatePartitionsTopicBody]
    timeout_ms: int
    validate_only: bool

class CreatePartitionsTopicResult(Struct, kw_only=True):
    name: str = ...
    error_code: int = ...
    error_message: str | None = ...

class CreatePartitionsTopicResultBody(TypedDict, total=False):
    name: str
    error_code: int
    error_message: str | None

class CreatePartitionsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    results: list[CreatePartitionsTopicResult] = ...

class CreatePartitionsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    results: Sequence[CreatePartitionsTopicResultBody]

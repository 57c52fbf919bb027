"""The types of wire/schema/create_topics.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class CreatableReplicaAssignment(Struct, kw_only=True):
    partition_index: int = ...
    broker_ids: list[int] = ...

class CreatableReplicaAssignmentBody(TypedDict, total=False):
    partition_index: int
    broker_ids: Sequence[int]

class CreatableTopicConfig(Struct, kw_only=True):
    name: str = ...
    value: str | None = ...

class CreatableTopicConfigBody(TypedDict, total=False):
    name: str
    value: str | None

class CreatableTopic(Struct, kw_only=True):
    name: str = ...
    num_partitions: int = ...
    replication_factor: int = ...
    assignments: list[CreatableReplicaAssignment] = ...
    configs: list[CreatableTopicConfig] = ...

class CreatableTopicBody(TypedDict, total=False):
    name: str
    num_partitions: int
    replication_factor: int
    assignments: Sequence[CreatableReplicaAssignmentBody]
    configs: Sequence[CreatableTopicConfigBody]

class CreateTopicsRequest(Request[CreateTopicsResponseBody], kw_only=True):
    topics: list[CreatableTopic] = ...
    timeout_ms: int = ...
    validate_only: bool = ...

class CreateTopicsRequestBody(TypedDict, total=False):
    topics: Sequence[CreatableTopicBody]
    timeout_ms: int
    validate_only: bool

class CreatableTopicConfigs(Struct, kw_only=True):
    name: str = ...
    value: str | None = ...
    read_only: bool = ...
    config_source: int = ...
    is_sensitive: bool = ...

class CreatableTopicConfigsBody(TypedDict, total=False):
    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool

class CreatableTopicResult(Struct, kw_only=True):
    name: str = ...
    error_code: int = ...
    error_message: str | None = ...
    topic_config_error_code: int = ...
    num_partitions: int = ...
    replication_factor: int = ...
    configs: list[CreatableTopicConfigs] | None = ...
    topic_id: bytes = ...

class CreatableTopicResultBody(TypedDict, total=False):
    name: str
    error_code: int
    error_message: str | None
    topic_config_error_code: int
    num_partitions: int
    replication_factor: int
    configs: Sequence[CreatableTopicConfigsBody] | None
    topic_id: bytes

class CreateTopicsResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    topics: list[CreatableTopicResult] = ...

class CreateTopicsResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    topics: Sequence[CreatableTopicResultBody]

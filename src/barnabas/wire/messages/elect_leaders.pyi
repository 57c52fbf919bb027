"""The types of wire/schema/elect_leaders.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ElectLeadersRequestTopicPartitions(Struct, kw_only=True):
    topic: str = ...
    partitions: list[int] = ...

class ElectLeadersRequestTopicPartitionsBody(TypedDict, total=False):
    topic: str
    partitions: Sequence[int]

class ElectLeadersRequest(Request[ElectLeadersResponseBody], kw_only=True):
    topic_partitions: list[ElectLeadersRequestTopicPartitions] | None = ...
    timeout_ms: int = ...
    election_type: int = ...

class ElectLeadersRequestBody(TypedDict, total=False):
    topic_partitions: Sequence[ElectLeadersRequestTopicPartitionsBody] | None
    timeout_ms: int
    election_type: int

class ElectLeadersResponsePartitionResult(Struct, kw_only=True):
    partition_id: int = ...
    error_code: int = ...
    error_message: str | None = ...

class ElectLeadersResponsePartitionResultBody(TypedDict, total=False):
    partition_id: int
    error_code: int
    error_message: str | None

class ReplicaElectionResult(Struct, kw_only=True):
    topic: str = ...
    partition_result: list[ElectLeadersResponsePartitionResult] = ...

class ReplicaElectionResultBody(TypedDict, total=False):
    topic: str
    partition_result: Sequence[ElectLeadersResponsePartitionResultBody]

class ElectLeadersResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    replica_election_results: list[ReplicaElectionResult] = ...
    error_code: int = ...

class ElectLeadersResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    replica_election_results: Sequence[ReplicaElectionResultBody]
    error_code: int

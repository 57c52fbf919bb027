"""The types of wire/schema/offset_for_leader_epoch.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class OffsetForLeaderPartition(Struct, kw_only=True):
    partition: int = ...
    current_leader_epoch: int = ...
    leader_epoch: int = ...

class OffsetForLeaderPartitionBody(TypedDict, total=False):
    partition: int
    current_leader_epoch: int
    leader_epoch: int

class OffsetForLeaderTopic(Struct, kw_only=True):
    topic: str = ...
    partitions: list[OffsetForLeaderPartition] = ...

class OffsetForLeaderTopicBody(TypedDict, total=False):
    topic: str
    partitions: Sequence[OffsetForLeaderPartitionBody]

class OffsetForLeaderEpochRequest(Request[OffsetForLeaderEpochResponseBody], kw_only=True):
    topics: list[OffsetForLeaderTopic] = ...
    replica_id: int = ...

class OffsetForLeaderEpochRequestBody(TypedDict, total=False):
    topics: Sequence[OffsetForLeaderTopicBody]
    replica_id: int

class OffsetForLeaderEpochResponseEpochEndOffset(Struct, kw_only=True):
    error_code: int = ...
    partition: int = ...
    leader_epoch: int = ...
    end_offset: int = ...

class OffsetForLeaderEpochResponseEpochEndOffsetBody(TypedDict, total=False):
    error_code: int
    partition: int
    leader_epoch: int
    end_offset: int

class OffsetForLeaderTopicResult(Struct, kw_only=True):
    topic: str = ...
    partitions: list[OffsetForLeaderEpochResponseEpochEndOffset] = ...

class OffsetForLeaderTopicResultBody(TypedDict, total=False):
    topic: str
    partitions: Sequence[OffsetForLeaderEpochResponseEpochEndOffsetBody]

class OffsetForLeaderEpochResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    topics: list[OffsetForLeaderTopicResult] = ...

class OffsetForLeaderEpochResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    topics: Sequence[OffsetForLeaderTopicResultBody]

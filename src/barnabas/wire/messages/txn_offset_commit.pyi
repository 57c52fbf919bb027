"""The types of wire/schema/txn_offset_commit.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class TxnOffsetCommitRequestPartition(Struct, kw_only=True):
    partition_index: int = ...
    committed_offset: int = ...
    committed_metadata: str | None = ...
    committed_leader_epoch: int = ...

class TxnOffsetCommitRequestPartitionBody(TypedDict, total=False):
    partition_index: int
    committed_offset: int
    committed_metadata: str | None
    committed_leader_epoch: int

class TxnOffsetCommitRequestTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[TxnOffsetCommitRequestPartition] = ...

class TxnOffsetCommitRequestTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[TxnOffsetCommitRequestPartitionBody]

class TxnOffsetCommitRequest(Request[TxnOffsetCommitResponseBody], kw_only=True):
    transactional_id: str = ...
    group_id: str = ...
    producer_id: int = ...
    producer_epoch: int = ...
    topics: list[TxnOffsetCommitRequestTopic] = ...
    generation_id: int = ...
    member_id: str = ...
    group_instance_id: str | None = ...

class TxnOffsetCommitRequestBody(TypedDict, total=False):
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    topics: Sequence[TxnOffsetCommitRequestTopicBody]
    generation_id: int
    member_id: str
    group_instance_id: str | None

class TxnOffsetCommitResponsePartition(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...

class TxnOffsetCommitResponsePartitionBody(TypedDict, total=False):
    partition_index: int
    error_code: int

class TxnOffsetCommitResponseTopic(Struct, kw_only=True):
    name: str = ...
    partitions: list[TxnOffsetCommitResponsePartition] = ...

class TxnOffsetCommitResponseTopicBody(TypedDict, total=False):
    name: str
    partitions: Sequence[TxnOffsetCommitResponsePartitionBody]

class TxnOffsetCommitResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    topics: list[TxnOffsetCommitResponseTopic] = ...

class TxnOffsetCommitResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    topics: Sequence[TxnOffsetCommitResponseTopicBody]

"""The types of wire/schema/read_share_group_state_summary.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ReadShareGroupStateSummaryRequestPartitionData(Struct, kw_only=True):
    partition: int = ...
    leader_epoch: int = ...

class ReadShareGroupStateSummaryRequestPartitionDataBody(TypedDict, total=False):
    partition: int
    leader_epoch: int

class ReadStateSummaryData(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[ReadShareGroupStateSummaryRequestPartitionData] = ...

class ReadStateSummaryDataBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[ReadShareGroupStateSummaryRequestPartitionDataBody]

class ReadShareGroupStateSummaryRequest(Request[ReadShareGroupStateSummaryResponseBody], kw_only=True):
    group_id: str = ...
    topics: list[ReadStateSummaryData] = ...

class ReadShareGroupStateSummaryRequestBody(TypedDict, total=False):
    group_id: str
    topics: Sequence[ReadStateSummaryDataBody]

class ReadShareGroupStateSummaryResponsePartitionResult(Struct, kw_only=True):
    partition: int = ...
    error_code: int = ...
    error_message: str | None = ...
    state_epoch: int = ...
    leader_epoch: int = ...
    start_offset: int = ...
    delivery_complete_count: int = ...

class ReadShareGroupStateSummaryResponsePartitionResultBody(TypedDict, total=False):
    partition: int
    error_code: int
    error_message: str | None
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int

class ReadStateSummaryResult(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[ReadShareGroupStateSummaryResponsePartitionResult] = ...

class ReadStateSummaryResultBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[ReadShareGroupStateSummaryResponsePartitionResultBody]

class ReadShareGroupStateSummaryResponse(Struct, kw_only=True):
    results: list[ReadStateSummaryResult] = ...

class ReadShareGroupStateSummaryResponseBody(TypedDict, total=False):
    results: Sequence[ReadStateSummaryResultBody]

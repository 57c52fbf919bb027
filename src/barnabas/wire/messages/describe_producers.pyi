"""The types of wire/schema/describe_producers.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DescribeProducersRequestTopicRequest(Struct, kw_only=True):
    name: str = ...
    partition_indexes: list[int] = ...

class DescribeProducersRequestTopicRequestBody(TypedDict, total=False):
    name: str
    partition_indexes: Sequence[int]

class DescribeProducersRequest(Request[DescribeProducersResponseBody], kw_only=True):
    topics: list[DescribeProducersRequestTopicRequest] = ...

class DescribeProducersRequestBody(TypedDict, total=False):
    topics: Sequence[DescribeProducersRequestTopicRequestBody]

class ProducerState(Struct, kw_only=True):
    producer_id: int = ...
    producer_epoch: int = ...
    last_sequence: int = ...
    last_timestamp: int = ...
    coordinator_epoch: int = ...
    current_txn_start_offset: int = ...

class ProducerStateBody(TypedDict, total=False):
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int

class PartitionResponse(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...
    error_message: str | None = ...
    active_producers: list[ProducerState] = ...

class PartitionResponseBody(TypedDict, total=False):
    partition_index: int
    error_code: int
    error_message: str | None
    active_producers: Sequence[ProducerStateBody]

class TopicResponse(Struct, kw_only=True):
    name: str = ...
    partitions: list[PartitionResponse] = ...

class TopicResponseBody(TypedDict, total=False):
    name: str
    partitions: Sequence[PartitionResponseBody]

class DescribeProducersResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    topics: list[TopicResponse] = ...

class DescribeProducersResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    topics: Sequence[TopicResponseBody]

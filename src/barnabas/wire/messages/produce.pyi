"""The types of wire/schema/produce.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class PartitionProduceData(Struct, kw_only=True):
    index: int = ...
    records: memoryview | None = ...

class PartitionProduceDataBody(TypedDict, total=False):
    index: int
    records: bytes | memoryview | None

class TopicProduceData(Struct, kw_only=True):
    name: str = ...
    partition_data: list[PartitionProduceData] = ...
    topic_id: bytes = ...

class TopicProduceDataBody(TypedDict, total=False):
    name: str
    partition_data: Sequence[PartitionProduceDataBody]
    topic_id: bytes

class ProduceRequest(Request[ProduceResponseBody], kw_only=True):
    transactional_id: str | None = ...
    acks: int = ...
    timeout_ms: int = ...
    topic_data: list[TopicProduceData] = ...

class ProduceRequestBody(TypedDict, total=False):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topic_data: Sequence[TopicProduceDataBody]

class BatchIndexAndErrorMessage(Struct, kw_only=True):
    batch_index: int = ...
    batch_index_error_message: str | None = ...

class BatchIndexAndErrorMessageBody(TypedDict, total=False):
    batch_index: int
    batch_index_error_message: str | None

class ProduceResponseLeaderIdAndEpoch(Struct, kw_only=True):
    leader_id: int = ...
    leader_epoch: int = ...

class ProduceResponseLeaderIdAndEpochBody(TypedDict, total=False):
    leader_id: int
    leader_epoch: int

class PartitionProduceResponse(Struct, kw_only=True):
    index: int = ...
    error_code: int = ...
    base_offset: int = ...
    log_append_time_ms: int = ...
    log_start_offset: int = ...
    record_errors: list[BatchIndexAndErrorMessage] = ...
    error_message: str | None = ...
    current_leader: ProduceResponseLeaderIdAndEpoch = ...

class PartitionProduceResponseBody(TypedDict, total=False):
    index: int
    error_code: int
    base_offset: int
    log_append_time_ms: int
    log_start_offset: int
    record_errors: Sequence[BatchIndexAndErrorMessageBody]
    error_message: str | None
    current_leader: ProduceResponseLeaderIdAndEpochBody

class TopicProduceResponse(Struct, kw_only=True):
    name: str = ...
    partition_responses: list[PartitionProduceResponse] = ...
    topic_id: bytes = ...

class TopicProduceResponseBody(TypedDict, total=False):
    name: str
    partition_responses: Sequence[PartitionProduceResponseBody]
    topic_id: bytes

class ProduceResponseNodeEndpoint(Struct, kw_only=True):
    node_id: int = ...
    host: str = ...
    port: int = ...
    rack: str | None = ...

class ProduceResponseNodeEndpointBody(TypedDict, total=False):
    node_id: int
    host: str
    port: int
    rack: str | None

class ProduceResponse(Struct, kw_only=True):
    responses: list[TopicProduceResponse] = ...
    throttle_time_ms: int = ...
    node_endpoints: list[ProduceResponseNodeEndpoint] = ...

class ProduceResponseBody(TypedDict, total=False):
    responses: Sequence[TopicProduceResponseBody]
    throttle_time_ms: int
    node_endpoints: Sequence[ProduceResponseNodeEndpointBody]

"""The types of wire/schema/share_acknowledge.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ShareAcknowledgeRequestAcknowledgementBatch(Struct, kw_only=True):
    first_offset: int = ...
    last_offset: int = ...
    acknowledge_types: list[int] = ...

class ShareAcknowledgeRequestAcknowledgementBatchBody(TypedDict, total=False):
    first_offset: int
    last_offset: int
    acknowledge_types: Sequence[int]

class AcknowledgePartition(Struct, kw_only=True):
    partition_index: int = ...
    acknowledgement_batches: list[ShareAcknowledgeRequestAcknowledgementBatch] = ...

class AcknowledgePartitionBody(TypedDict, total=False):
    partition_index: int
    acknowledgement_batches: Sequence[ShareAcknowledgeRequestAcknowledgementBatchBody]

class AcknowledgeTopic(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[AcknowledgePartition] = ...

class AcknowledgeTopicBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[AcknowledgePartitionBody]

class ShareAcknowledgeRequest(Request[ShareAcknowledgeResponseBody], kw_only=True):
    group_id: str | None = ...
    member_id: str | None = ...
    share_session_epoch: int = ...
    topics: list[AcknowledgeTopic] = ...
    is_renew_ack: bool = ...

class ShareAcknowledgeRequestBody(TypedDict, total=False):
    group_id: str | None
    member_id: str | None
    share_session_epoch: int
    topics: Sequence[AcknowledgeTopicBody]
    is_renew_ack: bool

class ShareAcknowledgeResponseLeaderIdAndEpoch(Struct, kw_only=True):
    leader_id: int = ...
    leader_epoch: int = ...

class ShareAcknowledgeResponseLeaderIdAndEpochBody(TypedDict, total=False):
    leader_id: int
    leader_epoch: int

class ShareAcknowledgeResponsePartitionData(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...
    error_message: str | None = ...
    current_leader: ShareAcknowledgeResponseLeaderIdAndEpoch = ...

class ShareAcknowledgeResponsePartitionDataBody(TypedDict, total=False):
    partition_index: int
    error_code: int
    error_message: str | None
    current_leader: ShareAcknowledgeResponseLeaderIdAndEpochBody

class ShareAcknowledgeTopicResponse(Struct, kw_only=True):
    topic_id: bytes = ...
    partitions: list[ShareAcknowledgeResponsePartitionData] = ...

class ShareAcknowledgeTopicResponseBody(TypedDict, total=False):
    topic_id: bytes
    partitions: Sequence[ShareAcknowledgeResponsePartitionDataBody]

class ShareAcknowledgeResponseNodeEndpoint(Struct, kw_only=True):
    node_id: int = ...
    host: str = ...
    port: int = ...
    rack: str | None = ...

class ShareAcknowledgeResponseNodeEndpointBody(TypedDict, total=False):
    node_id: int
    host: str
    port: int
    rack: str | None

class ShareAcknowledgeResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    error_message: str | None = ...
    responses: list[ShareAcknowledgeTopicResponse] = ...
    node_endpoints: list[ShareAcknowledgeResponseNodeEndpoint] = ...
    acquisition_lock_timeout_ms: int = ...

class ShareAcknowledgeResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: Sequence[ShareAcknowledgeTopicResponseBody]
    node_endpoints: Sequence[ShareAcknowledgeResponseNodeEndpointBody]
    acquisition_lock_timeout_ms: int

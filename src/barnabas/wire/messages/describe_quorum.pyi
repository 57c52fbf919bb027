"""The types of wire/schema/describe_quorum.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class DescribeQuorumRequestPartitionData(Struct, kw_only=True):
    partition_index: int = ...

class DescribeQuorumRequestPartitionDataBody(TypedDict, total=False):
    partition_index: int

class DescribeQuorumRequestTopicData(Struct, kw_only=True):
    topic_name: str = ...
    partitions: list[DescribeQuorumRequestPartitionData] = ...

class DescribeQuorumRequestTopicDataBody(TypedDict, total=False):
    topic_name: str
    partitions: Sequence[DescribeQuorumRequestPartitionDataBody]

class DescribeQuorumRequest(Request[DescribeQuorumResponseBody], kw_only=True):
    topics: list[DescribeQuorumRequestTopicData] = ...

class DescribeQuorumRequestBody(TypedDict, total=False):
    topics: Sequence[DescribeQuorumRequestTopicDataBody]

class DescribeQuorumResponseReplicaState(Struct, kw_only=True):
    replica_id: int = ...
    log_end_offset: int = ...
    last_fetch_timestamp: int = ...
    last_caught_up_timestamp: int = ...
    replica_directory_id: bytes = ...

class DescribeQuorumResponseReplicaStateBody(TypedDict, total=False):
    replica_id: int
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int
    replica_directory_id: bytes

class DescribeQuorumResponsePartitionData(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...
    leader_id: int = ...
    leader_epoch: int = ...
    high_watermark: int = ...
    current_voters: list[DescribeQuorumResponseReplicaState] = ...
    observers: list[DescribeQuorumResponseReplicaState] = ...
    error_message: str | None = ...

class DescribeQuorumResponsePartitionDataBody(TypedDict, total=False):
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    high_watermark: int
    current_voters: Sequence[DescribeQuorumResponseReplicaStateBody]
    observers: Sequence[DescribeQuorumResponseReplicaStateBody]
    error_message: str | None

class DescribeQuorumResponseTopicData(Struct, kw_only=True):
    topic_name: str = ...
    partitions: list[DescribeQuorumResponsePartitionData] = ...

class DescribeQuorumResponseTopicDataBody(TypedDict, total=False):
    topic_name: str
    partitions: Sequence[DescribeQuorumResponsePartitionDataBody]

class DescribeQuorumResponseListener(Struct, kw_only=True):
    name: str = ...
    host: str = ...
    port: int = ...

class DescribeQuorumResponseListenerBody(TypedDict, total=False):
    name: str
    host: str
    port: int

class Node(Struct, kw_only=True):
    node_id: int = ...
    listeners: list[DescribeQuorumResponseListener] = ...

class NodeBody(TypedDict, total=False):
    node_id: int
    listeners: Sequence[DescribeQuorumResponseListenerBody]

class DescribeQuorumResponse(Struct, kw_only=True):
    error_code: int = ...
    topics: list[DescribeQuorumResponseTopicData] = ...
    error_message: str | None = ...
    nodes: list[Node] = ...

class DescribeQuorumResponseBody(TypedDict, total=False):
    error_code: int
    topics: Sequence[DescribeQuorumResponseTopicDataBody]
    error_message: str | None
    nodes: Sequence[NodeBody]

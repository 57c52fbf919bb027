"""The types of wire/schema/begin_quorum_epoch.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class BeginQuorumEpochRequestPartitionData(Struct, kw_only=True):
    partition_index: int = ...
    leader_id: int = ...
    leader_epoch: int = ...
    voter_directory_id: bytes = ...

class BeginQuorumEpochRequestPartitionDataBody(TypedDict, total=False):
    partition_index: int
    leader_id: int
    leader_epoch: int
    voter_directory_id: bytes

class BeginQuorumEpochRequestTopicData(Struct, kw_only=True):
    topic_name: str = ...
    partitions: list[BeginQuorumEpochRequestPartitionData] = ...

class BeginQuorumEpochRequestTopicDataBody(TypedDict, total=False):
    topic_name: str
    partitions: Sequence[BeginQuorumEpochRequestPartitionDataBody]

class BeginQuorumEpochRequestLeaderEndpoint(Struct, kw_only=True):
    name: str = ...
    host: str = ...
    port: int = ...

class BeginQuorumEpochRequestLeaderEndpointBody(TypedDict, total=False):
    name: str
    host: str
    port: int

class BeginQuorumEpochRequest(Request[BeginQuorumEpochResponseBody], kw_only=True):
    cluster_id: str | None = ...
    topics: list[BeginQuorumEpochRequestTopicData] = ...
    voter_id: int = ...
    leader_endpoints: list[BeginQuorumEpochRequestLeaderEndpoint] = ...

class BeginQuorumEpochRequestBody(TypedDict, total=False):
    cluster_id: str | None
    topics: Sequence[BeginQuorumEpochRequestTopicDataBody]
    voter_id: int
    leader_endpoints: Sequence[BeginQuorumEpochRequestLeaderEndpointBody]

class BeginQuorumEpochResponsePartitionData(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...
    leader_id: int = ...
    leader_epoch: int = ...

class BeginQuorumEpochResponsePartitionDataBody(TypedDict, total=False):
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int

class BeginQuorumEpochResponseTopicData(Struct, kw_only=True):
    topic_name: str = ...
    partitions: list[BeginQuorumEpochResponsePartitionData] = ...

class BeginQuorumEpochResponseTopicDataBody(TypedDict, total=False):
    topic_name: str
    partitions: Sequence[BeginQuorumEpochResponsePartitionDataBody]

class BeginQuorumEpochResponseNodeEndpoint(Struct, kw_only=True):
    node_id: int = ...
    host: str = ...
    port: int = ...

class BeginQuorumEpochResponseNodeEndpointBody(TypedDict, total=False):
    node_id: int
    host: str
    port: int

class BeginQuorumEpochResponse(Struct, kw_only=True):
    error_code: int = ...
    topics: list[BeginQuorumEpochResponseTopicData] = ...
    node_endpoints: list[BeginQuorumEpochResponseNodeEndpoint] = ...

class BeginQuorumEpochResponseBody(TypedDict, total=False):
    error_code: int
    topics: Sequence[BeginQuorumEpochResponseTopicDataBody]
    node_endpoints: Sequence[BeginQuorumEpochResponseNodeEndpointBody]

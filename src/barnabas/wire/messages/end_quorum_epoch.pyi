"""The types of wire/schema/end_quorum_epoch.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class ReplicaInfo(Struct, kw_only=True):
    candidate_id: int = ...
    candidate_directory_id: bytes = ...

class ReplicaInfoBody(TypedDict, total=False):
    candidate_id: int
    candidate_directory_id: bytes

class EndQuorumEpochRequestPartitionData(Struct, kw_only=True):
    partition_index: int = ...
    leader_id: int = ...
    leader_epoch: int = ...
    preferred_successors: list[int] = ...
    preferred_candidates: list[ReplicaInfo] = ...

class EndQuorumEpochRequestPartitionDataBody(TypedDict, total=False):
    partition_index: int
    leader_id: int
    leader_epoch: int
    preferred_successors: Sequence[int]
    preferred_candidates: Sequence[ReplicaInfoBody]

class EndQuorumEpochRequestTopicData(Struct, kw_only=True):
    topic_name: str = ...
    partitions: list[EndQuorumEpochRequestPartitionData] = ...

class EndQuorumEpochRequestTopicDataBody(TypedDict, total=False):
    topic_name: str
    partitions: Sequence[EndQuorumEpochRequestPartitionDataBody]

class EndQuorumEpochRequestLeaderEndpoint(Struct, kw_only=True):
    name: str = ...
    host: str = ...
    port: int = ...

class EndQuorumEpochRequestLeaderEndpointBody(TypedDict, total=False):
    name: str
    host: str
    port: int

class EndQuorumEpochRequest(Request[EndQuorumEpochResponseBody], kw_only=True):
    cluster_id: str | None = ...
    topics: list[EndQuorumEpochRequestTopicData] = ...
    leader_endpoints: list[EndQuorumEpochRequestLeaderEndpoint] = ...

class EndQuorumEpochRequestBody(TypedDict, total=False):
    cluster_id: str | None
    topics: Sequence[EndQuorumEpochRequestTopicDataBody]
    leader_endpoints: Sequence[EndQuorumEpochRequestLeaderEndpointBody]

class EndQuorumEpochResponsePartitionData(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...
    leader_id: int = ...
    leader_epoch: int = ...

class EndQuorumEpochResponsePartitionDataBody(TypedDict, total=False):
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int

class EndQuorumEpochResponseTopicData(Struct, kw_only=True):
    topic_name: str = ...
    partitions: list[EndQuorumEpochResponsePartitionData] = ...

class EndQuorumEpochResponseTopicDataBody(TypedDict, total=False):
    topic_name: str
    partitions: Sequence[EndQuorumEpochResponsePartitionDataBody]

class EndQuorumEpochResponseNodeEndpoint(Struct, kw_only=True):
    node_id: int = ...
    host: str = ...
    port: int = ...

class EndQuorumEpochResponseNodeEndpointBody(TypedDict, total=False):
    node_id: int
    host: str
    port: int

class EndQuorumEpochResponse(Struct, kw_only=True):
    error_code: int = ...
    topics: list[EndQuorumEpochResponseTopicData] = ...
    node_endpoints: list[EndQuorumEpochResponseNodeEndpoint] = ...

class EndQuorumEpochResponseBody(TypedDict, total=False):
    error_code: int
    topics: Sequence[EndQuorumEpochResponseTopicDataBody]
    node_endpoints: Sequence[EndQuorumEpochResponseNodeEndpointBody]

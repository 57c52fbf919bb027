"""The types of wire/schema/vote.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class VoteRequestPartitionData(Struct, kw_only=True):
    partition_index: int = ...
    replica_epoch: int = ...
    replica_id: int = ...
    last_offset_epoch: int = ...
    last_offset: int = ...
    replica_directory_id: bytes = ...
    voter_directory_id: bytes = ...
    pre_vote: bool = ...

class VoteRequestPartitionDataBody(TypedDict, total=False):
    partition_index: int
    replica_epoch: int
    replica_id: int
    last_offset_epoch: int
    last_offset: int
    replica_directory_id: bytes
    voter_directory_id: bytes
    pre_vote: bool

class VoteRequestTopicData(Struct, kw_only=True):
    topic_name: str = ...
    partitions: list[VoteRequestPartitionData] = ...

class VoteRequestTopicDataBody(TypedDict, total=False):
    topic_name: str
    partitions: Sequence[VoteRequestPartitionDataBody]

class VoteRequest(Request[VoteResponseBody], kw_only=True):
    cluster_id: str | None = ...
    topics: list[VoteRequestTopicData] = ...
    voter_id: int = ...

class VoteRequestBody(TypedDict, total=False):
    cluster_id: str | None
    topics: Sequence[VoteRequestTopicDataBody]
    voter_id: int

class VoteResponsePartitionData(Struct, kw_only=True):
    partition_index: int = ...
    error_code: int = ...
    leader_id: int = ...
    leader_epoch: int = ...
    vote_granted: bool = ...

class VoteResponsePartitionDataBody(TypedDict, total=False):
    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    vote_granted: bool

class VoteResponseTopicData(Struct, kw_only=True):
    topic_name: str = ...
    partitions: list[VoteResponsePartitionData] = ...

class VoteResponseTopicDataBody(TypedDict, total=False):
    topic_name: str
    partitions: Sequence[VoteResponsePartitionDataBody]

class VoteResponseNodeEndpoint(Struct, kw_only=True):
    node_id: int = ...
    host: str = ...
    port: int = ...

class VoteResponseNodeEndpointBody(TypedDict, total=False):
    node_id: int
    host: str
    port: int

class VoteResponse(Struct, kw_only=True):
    error_code: int = ...
    topics: list[VoteResponseTopicData] = ...
    node_endpoints: list[VoteResponseNodeEndpoint] = ...

class VoteResponseBody(TypedDict, total=False):
    error_code: int
    topics: Sequence[VoteResponseTopicDataBody]
    node_endpoints: Sequence[VoteResponseNodeEndpointBody]

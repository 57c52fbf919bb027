"""The types of wire/schema/fetch_snapshot.json, made by tools/message_types.py."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import Struct

from barnabas.wire.messages.request import Request

class FetchSnapshotRequestSnapshotId(Struct, kw_only=True):
    end_offset: int = ...
    epoch: int = ...

class FetchSnapshotRequestSnapshotIdBody(TypedDict, total=False):
    end_offset: int
    epoch: int

class FetchSnapshotRequestPartitionSnapshot(Struct, kw_only=True):
    partition: int = ...
    current_leader_epoch: int = ...
    snapshot_id: FetchSnapshotRequestSnapshotId = ...
    position: int = ...
    replica_directory_id: bytes = ...

class FetchSnapshotRequestPartitionSnapshotBody(TypedDict, total=False):
    partition: int
    current_leader_epoch: int
    snapshot_id: FetchSnapshotRequestSnapshotIdBody
    position: int
    replica_directory_id: bytes

class FetchSnapshotRequestTopicSnapshot(Struct, kw_only=True):
    name: str = ...
    partitions: list[FetchSnapshotRequestPartitionSnapshot] = ...

class FetchSnapshotRequestTopicSnapshotBody(TypedDict, total=False):
    name: str
    partitions: Sequence[FetchSnapshotRequestPartitionSnapshotBody]

class FetchSnapshotRequest(Request[FetchSnapshotResponseBody], kw_only=True):
    cluster_id: str | None = ...
    replica_id: int = ...
    max_bytes: int = ...
    topics: list[FetchSnapshotRequestTopicSnapshot] = ...

class FetchSnapshotRequestBody(TypedDict, total=False):
    cluster_id: str | None
    replica_id: int
    max_bytes: int
    topics: Sequence[FetchSnapshotRequestTopicSnapshotBody]

class FetchSnapshotResponseSnapshotId(Struct, kw_only=True):
    end_offset: int = ...
    epoch: int = ...

class FetchSnapshotResponseSnapshotIdBody(TypedDict, total=False):
    end_offset: int
    epoch: int

class FetchSnapshotResponseLeaderIdAndEpoch(Struct, kw_only=True):
    leader_id: int = ...
    leader_epoch: int = ...

class FetchSnapshotResponseLeaderIdAndEpochBody(TypedDict, total=False):
    leader_id: int
    leader_epoch: int

class FetchSnapshotResponsePartitionSnapshot(Struct, kw_only=True):
    index: int = ...
    error_code: int = ...
    snapshot_id: FetchSnapshotResponseSnapshotId = ...
    current_leader: FetchSnapshotResponseLeaderIdAndEpoch = ...
    size: int = ...
    position: int = ...
    unaligned_records: memoryview = ...

class FetchSnapshotResponsePartitionSnapshotBody(TypedDict, total=False):
    index: int
    error_code: int
    snapshot_id: FetchSnapshotResponseSnapshotIdBody
    current_leader: FetchSnapshotResponseLeaderIdAndEpochBody
    size: int
    position: int
    unaligned_records: bytes | memoryview

class FetchSnapshotResponseTopicSnapshot(Struct, kw_only=True):
    name: str = ...
    partitions: list[FetchSnapshotResponsePartitionSnapshot] = ...

class FetchSnapshotResponseTopicSnapshotBody(TypedDict, total=False):
    name: str
    partitions: Sequence[FetchSnapshotResponsePartitionSnapshotBody]

class FetchSnapshotResponseNodeEndpoint(Struct, kw_only=True):
    node_id: int = ...
    host: str = ...
    port: int = ...

class FetchSnapshotResponseNodeEndpointBody(TypedDict, total=False):
    node_id: int
    host: str
    port: int

class FetchSnapshotResponse(Struct, kw_only=True):
    throttle_time_ms: int = ...
    error_code: int = ...
    topics: list[FetchSnapshotResponseTopicSnapshot] = ...
    node_endpoints: list[FetchSnapshotResponseNodeEndpoint] = ...

class FetchSnapshotResponseBody(TypedDict, total=False):
    throttle_time_ms: int
    error_code: int
    topics: Sequence[FetchSnapshotResponseTopicSnapshotBody]
    node_endpoints: Sequence[FetchSnapshotResponseNodeEndpointBody]

"""What members of the quorum say to each other, flattened to the one partition there is.

Field names are those of the schemas in wire/schema; wire_form.py puts them into bodies for the codec and reads them
back. Every response names the leader and the epoch its sender knows, and where that leader is reached.
"""

from typing import NamedTuple, TypeAlias

from msgspec import Struct

from barnabas.core.raft.voters import Endpoint, ReplicaKey, VoterSet
from barnabas.model.errors import ErrorCode

NONE = ErrorCode.NONE
NO_LEADER = -1
UNKNOWN_HIGH_WATERMARK = 2**63 - 1  # a follower too old to say how far it knows (before KIP-1166)


class OffsetAndEpoch(NamedTuple):
    """An offset and the epoch of the record before it: the end of a log, of an epoch, or of a snapshot."""

    offset: int
    epoch: int


NO_SNAPSHOT = OffsetAndEpoch(-1, -1)


class BatchSummary(Struct, frozen=True):
    """What the machine must know of a fetched batch; `voters` when it carries a VotersRecord (see batches.py)."""

    base_offset: int
    last_offset: int
    epoch: int
    voters: VoterSet | None = None


class VoteRequest(Struct, frozen=True, kw_only=True):
    cluster_id: str | None
    voter_id: int
    voter_directory_id: bytes
    replica_epoch: int
    replica_id: int
    replica_directory_id: bytes
    last_offset_epoch: int
    last_offset: int
    pre_vote: bool


class BeginQuorumEpochRequest(Struct, frozen=True, kw_only=True):
    cluster_id: str | None
    voter_id: int
    voter_directory_id: bytes
    leader_id: int
    leader_epoch: int
    leader_endpoints: tuple[Endpoint, ...]


class EndQuorumEpochRequest(Struct, frozen=True, kw_only=True):
    cluster_id: str | None
    leader_id: int
    leader_epoch: int
    preferred_candidates: tuple[ReplicaKey, ...]
    leader_endpoints: tuple[Endpoint, ...]


class FetchRequest(Struct, frozen=True, kw_only=True):
    cluster_id: str | None
    replica_id: int
    replica_directory_id: bytes
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    high_watermark: int = UNKNOWN_HIGH_WATERMARK
    max_wait_ms: int = 0
    max_bytes: int = 2**31 - 1


class FetchSnapshotRequest(Struct, frozen=True, kw_only=True):
    cluster_id: str | None
    replica_id: int
    replica_directory_id: bytes
    current_leader_epoch: int
    snapshot_id: OffsetAndEpoch
    position: int
    max_bytes: int


class AddRaftVoterRequest(Struct, frozen=True, kw_only=True):
    cluster_id: str | None
    timeout_ms: int
    voter_id: int
    voter_directory_id: bytes
    listeners: tuple[Endpoint, ...]
    ack_when_committed: bool = True


class RemoveRaftVoterRequest(Struct, frozen=True, kw_only=True):
    cluster_id: str | None
    voter_id: int
    voter_directory_id: bytes


class UpdateRaftVoterRequest(Struct, frozen=True, kw_only=True):
    cluster_id: str | None
    current_leader_epoch: int
    voter_id: int
    voter_directory_id: bytes
    listeners: tuple[Endpoint, ...]
    min_supported_version: int = 0
    max_supported_version: int = 1


class _Answer(Struct, frozen=True, kw_only=True):
    error_code: ErrorCode = NONE
    leader_id: int = NO_LEADER
    leader_epoch: int = -1
    leader_endpoint: Endpoint | None = None


class VoteResponse(_Answer, frozen=True, kw_only=True):
    vote_granted: bool = False


class BeginQuorumEpochResponse(_Answer, frozen=True, kw_only=True):
    pass


class EndQuorumEpochResponse(_Answer, frozen=True, kw_only=True):
    pass


class FetchResponse(_Answer, frozen=True, kw_only=True):
    """`records` are the bytes, which only the driver looks into; `batches` says what is in them."""

    high_watermark: int = -1
    log_start_offset: int = -1
    diverging_epoch: OffsetAndEpoch | None = None
    snapshot_id: OffsetAndEpoch | None = None
    batches: tuple[BatchSummary, ...] = ()
    records: object = None


class FetchSnapshotResponse(_Answer, frozen=True, kw_only=True):
    snapshot_id: OffsetAndEpoch = NO_SNAPSHOT
    size: int = 0
    position: int = 0
    unaligned_records: bytes | memoryview = b""


class AddRaftVoterResponse(_Answer, frozen=True, kw_only=True):
    error_message: str | None = None


class RemoveRaftVoterResponse(_Answer, frozen=True, kw_only=True):
    error_message: str | None = None


class UpdateRaftVoterResponse(_Answer, frozen=True, kw_only=True):
    pass


Request: TypeAlias = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | AddRaftVoterRequest
    | RemoveRaftVoterRequest
    | UpdateRaftVoterRequest
)
Response: TypeAlias = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
    | AddRaftVoterResponse
    | RemoveRaftVoterResponse
    | UpdateRaftVoterResponse
)

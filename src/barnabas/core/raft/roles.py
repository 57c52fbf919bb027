"""What a member of the quorum is at the moment, and what it remembers only while it is that.

Names and meaning follow Kafka's QuorumState (KIP-595, KIP-996); the table of transitions is in node.py. An observer is
an Unattached or a Follower that is not in the voter set: nothing else distinguishes it, so a replica that reads a
VotersRecord with its own key is a voter from that moment on.
"""

from collections import deque
from typing import ClassVar, NamedTuple, TypeAlias

from msgspec import Struct, field

from barnabas.core.raft.messages import (
    AddRaftVoterRequest,
    FetchRequest,
    OffsetAndEpoch,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
)
from barnabas.core.raft.voters import Endpoint, ReplicaKey, Voter
from barnabas.model.ids import ZERO_UUID


class LeaderAddress(NamedTuple):
    id: int
    endpoint: Endpoint


class Unattached(Struct):
    """Knows an epoch but no leader it could reach. Votes; asks for the leader; stands when its timeout passes."""

    name: ClassVar[str] = "unattached"
    election_deadline_ms: int
    next_question_ms: int


class Prospective(Struct):
    """Asks whether it would be elected, without a new epoch (KIP-996): a node cut off disturbs nobody on its return."""

    name: ClassVar[str] = "prospective"
    election_deadline_ms: int
    leader: LeaderAddress | None  # of this epoch: if nobody would elect us, it may still be there
    granted: set[int]
    rejected: set[int] = field(default_factory=set)


class Candidate(Struct):
    """Has begun an epoch, voted for itself, and asks for votes."""

    name: ClassVar[str] = "candidate"
    election_deadline_ms: int
    granted: set[int]
    rejected: set[int] = field(default_factory=set)
    backoff_until_ms: int | None = None  # lost: when to try again


class Download(Struct):
    snapshot_id: OffsetAndEpoch
    position: int = 0
    complete: bool = False  # all of it is with the driver, which has yet to say that it is whole


class Follower(Struct):
    name: ClassVar[str] = "follower"
    leader: LeaderAddress
    fetch_deadline_ms: int
    # A leader that answered is alive: as long as we believe so, nobody gets our pre-vote.
    has_fetched: bool = False
    leader_high_watermark: int = 0  # as its last answer had it
    download: Download | None = None
    next_voter_request_ms: int = 0


class Progress(Struct):
    """How far a replica has come, as its fetches said."""

    end_offset: int = -1
    last_fetch_ms: int = -1
    last_caught_up_ms: int = -1
    leader_end_offset: int = -1  # ours, when it fetched last


class ParkedFetch(Struct):
    request: FetchRequest
    token: object
    deadline_ms: int


class Proposal(NamedTuple):
    last_offset: int
    token: object


class VoterChange(Struct):
    """The one change of the voter set under way. It waits for a new voter to catch up, then for its commit."""

    request: AddRaftVoterRequest | RemoveRaftVoterRequest | UpdateRaftVoterRequest
    token: object | None  # None: answered already
    deadline_ms: int
    catching_up: Voter | None = None
    target_offset: int = 0
    offset: int | None = None  # of the VotersRecord, once it is in the log


class Leader(Struct):
    name: ClassVar[str] = "leader"
    epoch_start_offset: int
    check_quorum_deadline_ms: int
    next_begin_ms: int = 0
    heard: set[int] = field(default_factory=set)  # voters that fetched since the quorum was last counted
    replicas: dict[ReplicaKey, Progress] = field(default_factory=dict)
    parked: dict[ReplicaKey, ParkedFetch] = field(default_factory=dict)
    parked_deadline_ms: int | None = None
    parked_stale: bool = False  # the log or the high watermark moved since parked fetches were looked at
    proposals: deque[Proposal] = field(default_factory=deque)
    change: VoterChange | None = None

    def progress_of(self, voter: Voter) -> Progress | None:
        """How far this voter has come. For a voter whose directory is not known yet, the replica with its id."""
        if voter.directory_id != ZERO_UUID:
            return self.replicas.get(voter.key)
        found = [progress for key, progress in self.replicas.items() if key.id == voter.id]
        return max(found, key=lambda progress: progress.last_fetch_ms, default=None)


class Resigned(Struct):
    """Led this epoch and gave it up. Never leads it again, and votes for nobody in it."""

    name: ClassVar[str] = "resigned"
    election_deadline_ms: int
    preferred_candidates: tuple[ReplicaKey, ...] = ()
    untold: set[int] = field(default_factory=set)  # voters that have not confirmed EndQuorumEpoch


Role: TypeAlias = Unattached | Prospective | Candidate | Follower | Leader | Resigned

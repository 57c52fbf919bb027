"""One member of the quorum that keeps the metadata log: KRaft (KIP-595, 630, 853, 996) without a socket or a disk.

    node = RaftNode(config, state, log, rng, now_ms)
    effects = node.step(event, now_ms)      the one entrance and the one exit; what to do with effects: effects.py
    node.next_deadline_ms()                 when to step with Tick, whatever else happens

    from          to            when
    (start)       Follower      the leader of the epoch is known, and is another
                  Unattached    otherwise; a voter that is alone stands at once
    Unattached    Prospective   election timeout, as a voter
                  Follower      a leader is found: BeginQuorumEpoch, or an answer that names it
    Prospective   Candidate     a majority would vote for it (KIP-996)
                  Follower      it would lose, or time is up, and the leader it had may be there; or a leader is found
                  Unattached    the same without a leader
    Candidate     Leader        a majority voted for it
                  Prospective   it lost, after a drawn pause; or time is up
                  Follower      another leads this epoch
    Leader        Resigned      told to; a majority was not heard (check quorum); it is no voter any more
    Follower      Prospective   fetch timeout, a closed connection, or EndQuorumEpoch, as a voter
                  Unattached    the same as an observer
    Resigned      Unattached    election timeout
    any           Follower      a newer epoch with a leader that can be reached
                  Unattached    a newer epoch without

Only Candidate begins an epoch. Unattached and Prospective vote, once an epoch; a Candidate has voted for itself;
Leader, Follower and Resigned know that the epoch had its leader and vote no more in it. A voter with an empty disk that
others know by its id alone does neither until it is known not to have forgotten anything (newcomers.py).
"""

from barnabas.core.raft import elections, resigning
from barnabas.core.raft.config import RaftConfig
from barnabas.core.raft.effects import Effects, PersistentState
from barnabas.core.raft.events import (
    ConnectionLost,
    Event,
    LogFlushed,
    Propose,
    RequestFailed,
    RequestReceived,
    Resign,
    ResponseReceived,
    SnapshotDownloaded,
    SnapshotFailed,
    SnapshotTaken,
    Tick,
)
from barnabas.core.raft.follower import following, joining, snapshots
from barnabas.core.raft.leader import leading, membership, serving
from barnabas.core.raft.leader.view import QuorumView, quorum_view
from barnabas.core.raft.log import LogState, LogView
from barnabas.core.raft.messages import (
    NONE,
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    Request,
    Response,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoteRequest,
    VoteResponse,
)
from barnabas.core.raft.quorum import Quorum
from barnabas.core.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from barnabas.core.raft.voters import Endpoint, VoterSet
from barnabas.core.randomness import Random


class RaftNode:
    def __init__(self, config: RaftConfig, state: PersistentState, log: LogView, rng: Random, now_ms: int) -> None:
        self._quorum = Quorum(config, state, log, rng, now_ms)

    def step(self, event: Event, now_ms: int) -> Effects:
        q = self._quorum
        q.now_ms = max(q.now_ms, now_ms)  # the clock of a step never runs backwards, whatever the driver's does
        match event:
            case Tick():
                pass
            case RequestReceived(message, token):
                self._request(message, token)
            case ResponseReceived(source, request, message):
                pause_until_ms = None if message.error_code == NONE else q.now_ms + q.config.retry_backoff_ms
                if q.requests.close(source, request, pause_until_ms):
                    self._response(source, request, message)
            case RequestFailed(source, request):
                q.requests.close(source, request, q.now_ms + q.config.retry_backoff_ms)
            case ConnectionLost(source):
                q.requests.connection_lost(source, q.now_ms + q.config.retry_backoff_ms)
                if isinstance(q.role, Follower) and q.role.leader.id == source:
                    elections.lost_leader(q, q.role)
            case LogFlushed(end_offset, generation):
                q.log.flushed(end_offset, generation)
            case SnapshotDownloaded() | SnapshotFailed():
                snapshots.handle_downloaded(q, event)
            case SnapshotTaken():
                snapshots.handle_taken(q, event)
            case Propose():
                leading.propose(q, event)
            case Resign():
                if isinstance(q.role, Leader):
                    leading.resign(q, q.role)
        self._poll()
        return q.take_effects()

    def next_deadline_ms(self) -> int | None:
        return self._quorum.deadline_ms

    def _request(self, message: Request, token: object) -> None:
        q = self._quorum
        match message:
            case FetchRequest():
                serving.handle_fetch(q, message, token)
            case FetchSnapshotRequest():
                serving.handle_fetch_snapshot(q, message, token)
            case VoteRequest():
                elections.handle_vote(q, message, token)
            case BeginQuorumEpochRequest():
                following.handle_begin(q, message, token)
            case EndQuorumEpochRequest():
                resigning.handle_end(q, message, token)
            case AddRaftVoterRequest() | RemoveRaftVoterRequest() | UpdateRaftVoterRequest():
                membership.handle_change(q, message, token)

    def _response(self, source: int, request: Request, message: Response) -> None:
        q = self._quorum
        match request, message:
            case FetchRequest(), FetchResponse():
                following.handle_fetch_response(q, source, request, message)
            case FetchSnapshotRequest(), FetchSnapshotResponse():
                snapshots.handle_fetch_snapshot_response(q, source, request, message)
            case VoteRequest(), VoteResponse():
                elections.handle_vote_response(q, source, request, message)
            case _, BeginQuorumEpochResponse():
                leading.handle_begin_response(q, message)
            case _, EndQuorumEpochResponse():
                resigning.handle_end_response(q, source, message)
            case _, AddRaftVoterResponse() | RemoveRaftVoterResponse() | UpdateRaftVoterResponse():
                joining.handle_voter_response(q, message)

    def _poll(self) -> None:
        """Let the role do what is due, until nothing more is: a voter that is alone goes all the way to Leader."""
        q = self._quorum
        while True:
            role = q.role
            q.deadline_ms = None
            match role:
                case Leader():
                    leading.poll_leader(q, role)
                case Follower():
                    following.poll_follower(q, role)
                case Unattached():
                    following.poll_unattached(q, role)
                case Prospective():
                    elections.poll_prospective(q, role)
                case Candidate():
                    if elections.poll_candidate(q, role):
                        leading.take_office(q, role)
                case Resigned():
                    resigning.poll_resigned(q, role)
            if q.role is role:
                return

    # --- for the driver, metrics and tests ----------------------------------------------------------------------------

    @property
    def role(self) -> Role:
        return self._quorum.role

    @property
    def state(self) -> PersistentState:
        return self._quorum.state

    @property
    def epoch(self) -> int:
        return self._quorum.epoch

    @property
    def high_watermark(self) -> int:
        return self._quorum.high_watermark

    @property
    def log(self) -> LogState:
        return self._quorum.log

    @property
    def leader(self) -> tuple[int, Endpoint | None]:
        """The leader and where it is reached; -1 while none is known."""
        return self._quorum.leader_id, self._quorum.leader_endpoint

    @property
    def voters(self) -> VoterSet:
        return self._quorum.voters

    def view(self, now_ms: int) -> QuorumView:
        """What DescribeQuorum answers."""
        return quorum_view(self._quorum, now_ms)

"""Elections: Vote and pre-vote, asked and answered (KIP-595, KIP-996).

Who has our vote in an epoch has it for ever, also across a crash: the vote is in `persist` of the same step as the
answer. A candidate must have all that we promised to keep: its last epoch and end offset are not behind what we
flushed. A pre-vote promises nothing and is therefore given more freely, but never by one whose leader still
answers.
"""

from barnabas.core.raft.effects import Reply
from barnabas.core.raft.learning import learn, meant_for_us, right_cluster
from barnabas.core.raft.messages import NONE, VoteRequest, VoteResponse
from barnabas.core.raft.newcomers import hear_of_log
from barnabas.core.raft.quorum import Quorum
from barnabas.core.raft.roles import Candidate, Follower, Leader, Prospective, Resigned
from barnabas.core.raft.voters import ReplicaKey
from barnabas.model.errors import ErrorCode


def handle_vote(q: Quorum, request: VoteRequest, token: object) -> None:
    if not right_cluster(q, request, token):
        return None
    newest = request.replica_epoch if request.pre_vote else request.replica_epoch - 1
    if request.last_offset < 0 or not 0 <= request.last_offset_epoch <= newest:
        return q.refuse(request, token, ErrorCode.INVALID_REQUEST)
    if request.replica_epoch < q.epoch:
        return q.refuse(request, token, ErrorCode.FENCED_LEADER_EPOCH)
    if not meant_for_us(q, request.voter_id, request.voter_directory_id):
        return q.refuse(request, token, ErrorCode.INVALID_VOTER_KEY)
    if request.replica_epoch > q.epoch:
        q.unattach(request.replica_epoch)
    candidate = ReplicaKey(request.replica_id, request.replica_directory_id)
    hear_of_log(q, request.replica_id, request.last_offset)
    granted = not q.state.new and may_grant(q, request, candidate)
    if granted and not request.pre_vote:
        q.grant_vote(candidate)
    q.out.replies.append(
        Reply(
            token,
            VoteResponse(
                error_code=NONE,
                leader_id=q.leader_id,
                leader_epoch=q.epoch,
                leader_endpoint=q.leader_endpoint,
                vote_granted=granted,
            ),
        )
    )
    return None


def may_grant(q: Quorum, request: VoteRequest, candidate: ReplicaKey) -> bool:
    own = q.log.flushed_end
    has_our_log = (request.last_offset_epoch, request.last_offset) >= (own.epoch, own.offset)
    if request.pre_vote:
        match q.role:
            case Leader() | Follower(has_fetched=True):
                return False
        return has_our_log
    if isinstance(q.role, Leader | Follower | Resigned):
        return False  # the epoch has, or had, its leader
    if q.state.voted_for is not None:
        return q.state.voted_for == candidate
    return q.state.leader_id is None and has_our_log


def handle_vote_response(q: Quorum, source: int, request: VoteRequest, response: VoteResponse) -> None:
    if learn(q, response.leader_epoch, response.leader_id, response.leader_endpoint):
        return
    role = q.role
    # An error is no vote against us: a disk that was replaced, a cluster that is not ours. We ask again later.
    # A pre-vote is no vote: it must never count for the candidate that the prospective has become.
    if response.error_code == NONE and isinstance(role, Prospective if request.pre_vote else Candidate):
        (role.granted if response.vote_granted else role.rejected).add(source)


def poll_prospective(q: Quorum, role: Prospective) -> None:
    if len(role.granted & q.voters.by_id.keys()) >= q.voters.majority:
        return q.become_candidate()
    if is_lost(q, role.rejected) or q.now_ms >= role.election_deadline_ms or not q.may_stand:
        # The others still follow the leader, so it is probably up: follow it again, if there was one.
        if role.leader is not None:
            return q.follow(q.epoch, role.leader)
        return q.unattach(q.epoch)
    q.wake_at(role.election_deadline_ms)
    return ask_for_votes(q, role, pre_vote=True)


def poll_candidate(q: Quorum, role: Candidate) -> bool:
    """True when elected."""
    if len(role.granted & q.voters.by_id.keys()) >= q.voters.majority:
        return True
    if role.backoff_until_ms is None and is_lost(q, role.rejected):
        # A split vote: draw how long to wait, from a range that doubles with every loss.
        q.lost_elections += 1
        range_ms = min(q.config.retry_backoff_ms << min(q.lost_elections, 16), q.config.election_backoff_max_ms)
        role.backoff_until_ms = q.now_ms + 1 + q.rng.randrange(range_ms + 1)
    until_ms = min(role.election_deadline_ms, role.backoff_until_ms or role.election_deadline_ms)
    if q.now_ms >= until_ms:
        q.become_prospective()
        return False
    q.wake_at(until_ms)
    if role.backoff_until_ms is None:
        ask_for_votes(q, role, pre_vote=False)
    return False


def is_lost(q: Quorum, rejected: set[int]) -> bool:
    return len(q.voters) - len(rejected & q.voters.by_id.keys()) < q.voters.majority


def ask_for_votes(q: Quorum, role: Prospective | Candidate, *, pre_vote: bool) -> None:
    own = q.log.flushed_end  # a crash must not take what we were elected for
    for voter in q.voters.others(q.local):
        if voter.id in role.granted or voter.id in role.rejected or not q.ready(voter.id, VoteRequest):
            continue
        request = VoteRequest(
            cluster_id=q.config.cluster_id,
            voter_id=voter.id,
            voter_directory_id=voter.directory_id,
            replica_epoch=q.epoch,
            replica_id=q.local.id,
            replica_directory_id=q.local.directory_id,
            last_offset_epoch=own.epoch,
            last_offset=own.offset,
            pre_vote=pre_vote,
        )
        q.send(voter.id, voter.address, request)


def lost_leader(q: Quorum, role: Follower) -> None:
    """The leader's process is gone, or it has resigned: ask for pre-votes soon, and grant them to others."""
    role.has_fetched = False
    soon = q.now_ms + q.rng.randrange(q.config.leader_lost_backoff_ms + 1)
    role.fetch_deadline_ms = min(role.fetch_deadline_ms, soon)

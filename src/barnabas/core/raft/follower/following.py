"""Following a leader by Fetch, and finding one (KIP-595).

A fetch at an offset promises that everything before it is on disk here, so none leaves before the log is flushed. What
comes back is appended, or says where to cut (the logs part there), or that we are behind the leader's log and need its
snapshot. A cut below the high watermark would take back what was committed: that stops the node.
"""

from collections.abc import Sequence

from barnabas.core.raft.effects import AppendFetched, Reply, Truncate
from barnabas.core.raft.elections import lost_leader
from barnabas.core.raft.follower.joining import poll_joining
from barnabas.core.raft.follower.snapshots import poll_download, start_download
from barnabas.core.raft.learning import learn, meant_for_us, right_cluster
from barnabas.core.raft.messages import (
    NONE,
    BatchSummary,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    OffsetAndEpoch,
)
from barnabas.core.raft.newcomers import catch_up
from barnabas.core.raft.quorum import Quorum, QuorumBroken
from barnabas.core.raft.roles import Follower, LeaderAddress, Prospective, Unattached
from barnabas.core.raft.voters import Endpoint
from barnabas.model.errors import ErrorCode


def poll_unattached(q: Quorum, role: Unattached) -> None:
    if q.may_stand:
        if q.now_ms >= role.election_deadline_ms:
            return q.become_prospective()
        q.wake_at(role.election_deadline_ms)
    # The leader, if there is one, will find a voter; asking around finds it sooner, and is the only way of an observer.
    if q.log.flushed_offset < q.log.end_offset:
        return None  # LogFlushed will come
    if q.now_ms >= role.next_question_ms:
        role.next_question_ms = q.now_ms + q.config.discovery_backoff_ms
        places = [(voter.id, voter.address) for voter in q.voters.others(q.local)]
        places += [(-2 - number, server) for number, server in enumerate(q.config.bootstrap_servers)]
        places = [place for place in places if q.requests.ready_at(place[0], FetchRequest, q.now_ms) <= q.now_ms]
        # One that is new asks everybody: they are to hear that it has no log (newcomers.py).
        for place in places if q.state.new else [q.rng.choice(places)] if places else []:
            _fetch(q, *place, max_wait_ms=0)
    return q.wake_at(role.next_question_ms)


def poll_follower(q: Quorum, role: Follower) -> None:
    if q.now_ms >= role.fetch_deadline_ms:
        return q.become_prospective() if q.may_stand else q.unattach(q.epoch)
    q.wake_at(role.fetch_deadline_ms)
    catch_up(q, role)
    if role.download is not None:
        poll_download(q, role, role.download)
    elif q.log.flushed_offset == q.log.end_offset and q.ready(role.leader.id, FetchRequest):
        _fetch(q, *role.leader, max_wait_ms=q.config.fetch_max_wait_ms)
    poll_joining(q, role)
    return None


def _fetch(q: Quorum, node_id: int, endpoint: Endpoint, *, max_wait_ms: int) -> None:
    request = FetchRequest(
        cluster_id=q.config.cluster_id,
        replica_id=q.local.id,
        replica_directory_id=q.local.directory_id,
        current_leader_epoch=q.epoch,
        fetch_offset=q.log.end_offset,
        last_fetched_epoch=q.log.last_epoch,
        high_watermark=q.high_watermark,
        max_wait_ms=max_wait_ms,
        max_bytes=q.config.fetch_max_bytes,
    )
    q.send(node_id, endpoint, request)


def handle_fetch_response(q: Quorum, source: int, request: FetchRequest, response: FetchResponse) -> None:
    if learn(q, response.leader_epoch, response.leader_id, response.leader_endpoint):
        return
    role = q.role
    if not isinstance(role, Follower):
        return  # an answer to "who leads?" that did not know either
    if response.error_code != NONE:
        if response.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            lost_leader(q, role)
        return
    if source != role.leader.id:
        return
    role.has_fetched = True
    role.leader_high_watermark = response.high_watermark
    role.fetch_deadline_ms = q.now_ms + q.config.fetch_timeout_ms
    if response.diverging_epoch is not None:
        _truncate(q, response.diverging_epoch)
    elif response.snapshot_id is not None:
        start_download(q, role, response.snapshot_id)
    else:
        _append(q, response)


def _truncate(q: Quorum, diverging: OffsetAndEpoch) -> None:
    cut = q.log.truncation_point(diverging)
    if cut < q.high_watermark:
        raise QuorumBroken(f"the leader's log parts from ours at {cut}, below the high watermark {q.high_watermark}")
    if cut < q.log.end_offset:
        voters = q.voters
        q.out.log.append(Truncate(cut))
        q.log.truncate(cut)
        q.flush()
        if q.voters is not voters:
            q.out.voters = q.voters


def _append(q: Quorum, response: FetchResponse) -> None:
    batches = _next_batches(q, response.batches, response.leader_epoch)
    for batch in batches:
        q.log.append(batch.last_offset, batch.epoch, batch.voters)
        if batch.voters is not None:
            q.out.voters = batch.voters
    if batches:
        q.out.log.append(AppendFetched(tuple(batches), response.records))
        q.flush()
    q.advance(min(response.high_watermark, q.log.end_offset))


def _next_batches(q: Quorum, batches: Sequence[BatchSummary], leader_epoch: int) -> list[BatchSummary]:
    """Those that continue our log. A batch out of line ends the list: it is asked for again."""
    fitting: list[BatchSummary] = []
    end_offset, epoch = q.log.end_offset, q.log.last_epoch
    for batch in batches:
        if (
            batch.base_offset != end_offset
            or batch.last_offset < end_offset
            or not epoch <= batch.epoch <= leader_epoch
        ):
            break
        fitting.append(batch)
        end_offset, epoch = batch.last_offset + 1, batch.epoch
    return fitting


def handle_begin(q: Quorum, request: BeginQuorumEpochRequest, token: object) -> None:
    if not right_cluster(q, request, token):
        return None
    if request.leader_epoch < q.epoch:
        return q.refuse(request, token, ErrorCode.FENCED_LEADER_EPOCH)
    if not meant_for_us(q, request.voter_id, request.voter_directory_id):
        return q.refuse(request, token, ErrorCode.INVALID_VOTER_KEY)
    if request.leader_id < 0 or request.leader_id == q.local.id or not request.leader_endpoints:
        return q.refuse(request, token, ErrorCode.INVALID_REQUEST)
    leader = LeaderAddress(request.leader_id, request.leader_endpoints[0])
    learn(q, request.leader_epoch, *leader)
    match q.role:
        case Prospective():
            q.follow(q.epoch, leader)  # it was only silent
        case Follower():
            q.role.leader = leader  # perhaps at a new address
    response = BeginQuorumEpochResponse(leader_id=q.leader_id, leader_epoch=q.epoch, leader_endpoint=q.leader_endpoint)
    q.out.replies.append(Reply(token, response))
    return None

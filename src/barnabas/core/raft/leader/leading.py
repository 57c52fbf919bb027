"""Leading an epoch: its first record, proposals, the high watermark, and giving up when a majority is not heard.

The high watermark is what a majority of voters has flushed, but it moves only to a record of this epoch: a record of an
older one can be on a majority and still be overwritten (Raft 5.4.2). A leader that is being removed leads on until the
record that removes it is committed, without counting itself (KIP-853).
"""

from barnabas.core.raft.config import PROPOSALS_MAX
from barnabas.core.raft.effects import AppendBatch, ControlRecord, Done, KRaftVersion, LeaderChange
from barnabas.core.raft.events import Propose
from barnabas.core.raft.leader.membership import poll_change, poll_own_entry, with_own_entry
from barnabas.core.raft.leader.serving import poll_parked
from barnabas.core.raft.learning import learn
from barnabas.core.raft.messages import NONE, BeginQuorumEpochRequest, BeginQuorumEpochResponse
from barnabas.core.raft.quorum import Quorum
from barnabas.core.raft.roles import Candidate, Leader, Proposal
from barnabas.core.raft.voters import Voter, VoterSet
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID

K_RAFT_VERSION = 1  # dynamic voters


def take_office(q: Quorum, role: Candidate) -> None:
    voters = q.voters
    granting = tuple(voter.key for voter in voters.voters if voter.id in role.granted)
    control: list[ControlRecord] = [LeaderChange(q.local.id, tuple(voter.key for voter in voters.voters), granting)]
    if q.log.voters_offset < 0:  # the first leader of all: from now on the log itself says who votes
        control += [KRaftVersion(K_RAFT_VERSION), with_own_entry(q)]
    q.lead(Leader(q.log.end_offset, q.now_ms + q.config.check_quorum_timeout_ms))
    append(q, control=tuple(control))


def append(q: Quorum, *, records: tuple[object, ...] = (), control: tuple[ControlRecord, ...] = ()) -> int:
    """One batch at the end of the log; gives the offset of its last record."""
    base_offset = q.log.end_offset
    last_offset = base_offset + len(records) + len(control) - 1
    voters = next((record for record in control if isinstance(record, VoterSet)), None)
    q.out.log.append(AppendBatch(base_offset, q.epoch, records, control))
    q.log.append(last_offset, q.epoch, voters)
    if voters is not None:
        q.out.voters = voters
    if isinstance(q.role, Leader):
        q.role.parked_stale = True
    q.flush()
    return last_offset


def propose(q: Quorum, event: Propose) -> None:
    role = q.role
    if not isinstance(role, Leader) or event.epoch not in (None, q.epoch):
        q.out.done.append(Done(event.token, None, ErrorCode.NOT_LEADER_OR_FOLLOWER))
    elif not event.records:
        q.out.done.append(Done(event.token, None, ErrorCode.INVALID_REQUEST))
    elif len(role.proposals) >= PROPOSALS_MAX:
        q.out.done.append(Done(event.token, None, ErrorCode.THROTTLING_QUOTA_EXCEEDED))
    else:
        role.proposals.append(Proposal(append(q, records=tuple(event.records)), event.token))


def update_high_watermark(q: Quorum, role: Leader) -> None:
    voters = q.voters
    if not voters.voters:
        return
    ends: list[int] = []
    for voter in voters.voters:
        if voter.id == q.local.id and voter.directory_id in (q.local.directory_id, ZERO_UUID):
            ends.append(q.log.flushed_offset)
        else:
            progress = role.progress_of(voter)
            ends.append(-1 if progress is None else progress.end_offset)
    ends.sort(reverse=True)
    on_majority = ends[voters.majority - 1]
    if on_majority > role.epoch_start_offset and on_majority > q.high_watermark:
        q.advance(on_majority)
        role.parked_stale = True
        while role.proposals and role.proposals[0].last_offset < on_majority:
            proposal = role.proposals.popleft()
            q.out.done.append(Done(proposal.token, proposal.last_offset, None))


def poll_leader(q: Quorum, role: Leader) -> None:
    update_high_watermark(q, role)
    poll_own_entry(q, role)
    poll_change(q, role, append)
    if q.log.voters_offset < q.high_watermark and not q.is_voter:
        return resign(q, role)  # the record that removed us is committed
    if not check_quorum(q, role):
        return resign(q, role)
    begin_epoch(q, role)
    poll_parked(q, role)
    return None


def check_quorum(q: Quorum, role: Leader) -> bool:
    """False when a majority of voters has not fetched for too long: another leader may be elected, clients must not
    wait here."""
    needed = q.voters.majority - (1 if q.is_voter else 0)
    if len(role.heard & q.voters.by_id.keys()) >= needed:
        role.heard.clear()
        role.check_quorum_deadline_ms = q.now_ms + q.config.check_quorum_timeout_ms
    if needed > 0:
        q.wake_at(role.check_quorum_deadline_ms)
    return needed <= 0 or q.now_ms < role.check_quorum_deadline_ms


def begin_epoch(q: Quorum, role: Leader) -> None:
    """Tell voters that do not fetch who leads, at once and then every half fetch timeout."""
    if q.now_ms >= role.next_begin_ms:
        role.next_begin_ms = q.now_ms + q.config.fetch_timeout_ms // 2
        for voter in q.voters.others(q.local):
            progress = role.progress_of(voter)
            silent = progress is None or q.now_ms - progress.last_fetch_ms >= q.config.fetch_timeout_ms // 2
            if silent and q.requests.ready_at(voter.id, BeginQuorumEpochRequest, q.now_ms) <= q.now_ms:
                request = BeginQuorumEpochRequest(
                    cluster_id=q.config.cluster_id,
                    voter_id=voter.id,
                    voter_directory_id=voter.directory_id,
                    leader_id=q.local.id,
                    leader_epoch=q.epoch,
                    leader_endpoints=q.config.endpoints,
                )
                q.send(voter.id, voter.address, request)
    if len(q.voters) > 1:
        q.wake_at(role.next_begin_ms)


def handle_begin_response(q: Quorum, response: BeginQuorumEpochResponse) -> None:
    if response.error_code in (NONE, ErrorCode.FENCED_LEADER_EPOCH):
        learn(q, response.leader_epoch, response.leader_id, response.leader_endpoint)


def resign(q: Quorum, role: Leader) -> None:
    """The voter that has come furthest first: it can be elected at once (KIP-595)."""

    def how_far(voter: Voter) -> int:
        progress = role.progress_of(voter)
        return -1 if progress is None else progress.end_offset

    others = sorted(q.voters.others(q.local), key=how_far, reverse=True)
    q.resign(tuple(voter.key for voter in others))

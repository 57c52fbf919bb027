"""What a follower asks of its leader about itself (KIP-853): a voter at a new address, or one whose disk nobody knows
yet (`controller.quorum.voters` names none), says so (UpdateRaftVoter), and a controller with `auto_join` becomes a
voter (AddRaftVoter), after the voter its replaced disk once was is gone (RemoveRaftVoter). Once per fetch timeout,
until the voter set says what it should.
"""

from barnabas.core.raft.learning import learn
from barnabas.core.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    Request,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from barnabas.core.raft.quorum import Quorum
from barnabas.core.raft.roles import Follower


def poll_joining(q: Quorum, role: Follower) -> None:
    request = _wish(q)
    # Only what the leader has answered since we follow it can be known to be missing.
    if request is None or not role.has_fetched:
        return
    if q.now_ms < role.next_voter_request_ms:
        q.wake_at(role.next_voter_request_ms)
    elif q.ready(role.leader.id, type(request)):
        role.next_voter_request_ms = q.now_ms + q.config.fetch_timeout_ms
        q.wake_at(role.next_voter_request_ms)
        q.send(*role.leader, request)


def _wish(q: Quorum) -> Request | None:
    config, known = q.config, q.voters.get(q.local.id)
    if q.is_voter and known is not None:
        q.was_voter |= known.key == q.local
        if known.key == q.local and known.endpoints == config.endpoints:
            return None
        return UpdateRaftVoterRequest(
            cluster_id=config.cluster_id,
            current_leader_epoch=q.epoch,
            voter_id=q.local.id,
            voter_directory_id=q.local.directory_id,
            listeners=config.endpoints,
        )
    if not config.auto_join or q.was_voter:
        return None
    if known is not None:
        return RemoveRaftVoterRequest(
            cluster_id=config.cluster_id, voter_id=known.id, voter_directory_id=known.directory_id
        )
    return AddRaftVoterRequest(
        cluster_id=config.cluster_id,
        timeout_ms=config.request_timeout_ms,
        voter_id=q.local.id,
        voter_directory_id=q.local.directory_id,
        listeners=config.endpoints,
        ack_when_committed=False,
    )


def handle_voter_response(
    q: Quorum, response: AddRaftVoterResponse | RemoveRaftVoterResponse | UpdateRaftVoterResponse
) -> None:
    """Whether it worked shows in the log; only an epoch could be news."""
    if response.leader_epoch > q.epoch:
        learn(q, response.leader_epoch, response.leader_id, response.leader_endpoint)

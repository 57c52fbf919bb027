"""The end of an epoch by its own leader: EndQuorumEpoch, sent and received (KIP-595).

A leader that stops, or is removed, tells the voters, in the order in which they should try. The first tries at once,
the others a little later, so that an orderly stop costs a round trip and not an election timeout.
"""

from barnabas.core.raft.effects import Reply
from barnabas.core.raft.learning import address_of, learn, right_cluster
from barnabas.core.raft.messages import EndQuorumEpochRequest, EndQuorumEpochResponse
from barnabas.core.raft.quorum import Quorum
from barnabas.core.raft.roles import Follower, Resigned, Unattached
from barnabas.model.errors import ErrorCode


def poll_resigned(q: Quorum, role: Resigned) -> None:
    if q.now_ms >= role.election_deadline_ms:
        return q.unattach(q.epoch)
    q.wake_at(role.election_deadline_ms)
    for voter in q.voters.others(q.local):
        if voter.id in role.untold and q.ready(voter.id, EndQuorumEpochRequest):
            request = EndQuorumEpochRequest(
                cluster_id=q.config.cluster_id,
                leader_id=q.local.id,
                leader_epoch=q.epoch,
                preferred_candidates=role.preferred_candidates,
                leader_endpoints=q.config.endpoints,
            )
            q.send(voter.id, voter.address, request)
    return None


def handle_end_response(q: Quorum, source: int, response: EndQuorumEpochResponse) -> None:
    if learn(q, response.leader_epoch, response.leader_id, response.leader_endpoint):
        return
    if isinstance(q.role, Resigned):
        q.role.untold.discard(source)


def handle_end(q: Quorum, request: EndQuorumEpochRequest, token: object) -> None:
    if not right_cluster(q, request, token):
        return None
    if request.leader_epoch < q.epoch:
        return q.refuse(request, token, ErrorCode.FENCED_LEADER_EPOCH)
    if request.leader_id < 0 or request.leader_id == q.local.id:
        return q.refuse(request, token, ErrorCode.INVALID_REQUEST)
    endpoint = request.leader_endpoints[0] if request.leader_endpoints else None
    if address_of(q, request.leader_id, endpoint) is not None:
        learn(q, request.leader_epoch, request.leader_id, endpoint)
    when_ms = q.now_ms + _turn_ms(q, request)
    role = q.role
    if request.leader_epoch == q.epoch:
        match role:
            case Follower():
                role.has_fetched = False  # it has resigned: others may have our pre-vote
                role.fetch_deadline_ms = min(role.fetch_deadline_ms, when_ms)
            case Unattached():
                role.election_deadline_ms = min(role.election_deadline_ms, when_ms)
    response = EndQuorumEpochResponse(leader_id=q.leader_id, leader_epoch=q.epoch, leader_endpoint=q.leader_endpoint)
    q.out.replies.append(Reply(token, response))
    return None


def _turn_ms(q: Quorum, request: EndQuorumEpochRequest) -> int:
    """The first at once, the second within two backoffs, the third within four, ..."""
    order = request.preferred_candidates
    names = [key.id for key in order]
    place = names.index(q.local.id) if q.local.id in names else len(order)
    if place == 0 and order:
        return 0
    range_ms = min(q.config.retry_backoff_ms << min(place, 16), q.config.election_backoff_max_ms)
    return q.config.retry_backoff_ms + q.rng.randrange(range_ms + 1)

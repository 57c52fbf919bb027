"""The epoch and the leader that every message carries (KIP-595, "common response handling").

A newer epoch always wins. In our own epoch a leader is taken over only while none is known.
"""

from barnabas.core.raft.messages import NO_LEADER, Request
from barnabas.core.raft.quorum import Quorum, QuorumBroken
from barnabas.core.raft.roles import Candidate, LeaderAddress, Prospective, Unattached
from barnabas.core.raft.voters import Endpoint, ReplicaKey
from barnabas.model.errors import ErrorCode


def learn(q: Quorum, epoch: int, leader_id: int, endpoint: Endpoint | None) -> bool:
    """True when the message changed our role or epoch, or is of an older epoch: the rest of it is ignored then."""
    if epoch < q.epoch:
        return True
    leader = None if leader_id in (NO_LEADER, q.local.id) else address_of(q, leader_id, endpoint)
    if epoch > q.epoch:
        if leader is None:  # or this node itself, before it lost its disk: there is nobody to follow
            q.unattach(epoch)
        else:
            q.follow(epoch, leader)
        return True
    if leader is not None:
        if q.state.leader_id not in (None, leader.id):
            raise QuorumBroken(f"epoch {epoch} is led by {q.state.leader_id} and by {leader.id}")
        # A prospective asks because its leader does not answer: that others still follow that leader is no news to it.
        news = isinstance(q.role, Unattached | Candidate) or (isinstance(q.role, Prospective) and not q.role.leader)
        if news:
            q.follow(epoch, leader)
            return True
    return False


def address_of(q: Quorum, node_id: int, endpoint: Endpoint | None) -> LeaderAddress | None:
    """Where a leader is reached: as it was said, else as the voter set knows."""
    if endpoint is None:
        voter = q.voters.get(node_id)
        endpoint = voter.address if voter is not None else None
    return None if endpoint is None else LeaderAddress(node_id, endpoint)


def right_cluster(q: Quorum, request: Request, token: object | None = None) -> bool:
    """False when it is meant for another cluster; it is refused then, if there is a token to refuse."""
    if request.cluster_id is None or request.cluster_id == q.config.cluster_id:
        return True
    if token is not None:
        q.refuse(request, token, ErrorCode.INCONSISTENT_CLUSTER_ID, f"this is cluster {q.config.cluster_id}")
    return False


def meant_for_us(q: Quorum, voter_id: int, directory_id: bytes) -> bool:
    """A request to a voter names the disk it is for: one that was replaced must not speak for the old one."""
    return voter_id < 0 or ReplicaKey(voter_id, directory_id) in (q.local, ReplicaKey(q.local.id))

"""The quorum as a leader sees it, for DescribeQuorum (KIP-595, KIP-836, KIP-853)."""

from typing import NamedTuple

from barnabas.core.raft.quorum import Quorum
from barnabas.core.raft.roles import Leader, Progress
from barnabas.core.raft.voters import ReplicaKey, VoterSet


class ReplicaView(NamedTuple):
    replica_id: int
    replica_directory_id: bytes
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int


class QuorumView(NamedTuple):
    leader_id: int  # -1: none is known
    leader_epoch: int
    high_watermark: int
    voters: VoterSet
    current_voters: tuple[ReplicaView, ...]  # both are empty unless this node leads
    observers: tuple[ReplicaView, ...]


def quorum_view(q: Quorum, now_ms: int) -> QuorumView:
    """`now_ms`: a leader has always fetched just now, also one whose log nobody writes to."""
    role = q.role
    voters: list[ReplicaView] = []
    observers: list[ReplicaView] = []
    if isinstance(role, Leader):
        own = Progress(q.log.end_offset, now_ms, now_ms)
        for voter in q.voters.voters:
            progress = own if q.local.id == voter.id and q.is_voter else role.progress_of(voter)
            voters.append(_shown(voter.key, progress or Progress()))
        replicas = role.replicas if q.is_voter else role.replicas | {q.local: own}
        observers = [_shown(*replica) for replica in replicas.items() if not q.voters.has(replica[0])]
    return QuorumView(q.leader_id, q.epoch, q.high_watermark, q.voters, tuple(voters), tuple(observers))


def _shown(key: ReplicaKey, progress: Progress) -> ReplicaView:
    return ReplicaView(*key, progress.end_offset, progress.last_fetch_ms, progress.last_caught_up_ms)

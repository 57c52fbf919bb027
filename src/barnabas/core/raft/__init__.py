"""The quorum that keeps the metadata log: KRaft as a pure machine (KIP-595, 630, 853, 996). It starts at node.py."""

from barnabas.core.raft.config import RaftConfig
from barnabas.core.raft.effects import Effects, PersistentState
from barnabas.core.raft.log import LogView
from barnabas.core.raft.messages import BatchSummary, OffsetAndEpoch
from barnabas.core.raft.node import RaftNode
from barnabas.core.raft.quorum import QuorumBroken
from barnabas.core.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet

__all__ = [
    "BatchSummary",
    "Effects",
    "Endpoint",
    "LogView",
    "OffsetAndEpoch",
    "PersistentState",
    "QuorumBroken",
    "RaftConfig",
    "RaftNode",
    "ReplicaKey",
    "Voter",
    "VoterSet",
]

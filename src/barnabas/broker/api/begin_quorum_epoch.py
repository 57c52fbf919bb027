"""BeginQuorumEpoch (53), versions 0-1: a new leader of the quorum says so to the voters (KIP-595). v1 names its
addresses.
"""

from barnabas.broker.quorum.answering import answer as handle

__all__ = ["handle"]

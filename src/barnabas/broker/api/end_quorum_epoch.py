"""EndQuorumEpoch (54), versions 0-1: a leader of the quorum gives up, and says who should try first (KIP-595).

Versions: 1 flexible, with addresses and directory ids (KIP-853).
"""

from barnabas.broker.quorum.answering import answer as handle

__all__ = ["handle"]

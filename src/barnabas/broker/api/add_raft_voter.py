"""AddRaftVoter (80), versions 0-1: one more voter of the quorum (KIP-853). v1 may be answered before the change is
committed.
"""

from barnabas.broker.quorum.answering import answer as handle

__all__ = ["handle"]

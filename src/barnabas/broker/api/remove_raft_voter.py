"""RemoveRaftVoter (81), version 0: one voter of the quorum fewer (KIP-853)."""

from barnabas.broker.quorum.answering import answer as handle

__all__ = ["handle"]

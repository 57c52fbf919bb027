"""UpdateRaftVoter (82), version 0: a voter of the quorum says which disk and addresses it has (KIP-853)."""

from barnabas.broker.quorum.answering import answer as handle

__all__ = ["handle"]

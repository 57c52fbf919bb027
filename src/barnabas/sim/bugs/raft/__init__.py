"""Mistakes in the quorum: votes, its majority, its log."""

from barnabas.sim.bugs.raft import metadata_before_flush, quorum_of_one, two_votes, vote_not_persisted

BUGS = (vote_not_persisted.BUG, two_votes.BUG, quorum_of_one.BUG, metadata_before_flush.BUG)

"""A voter with an empty disk: is the cluster new, or did this node lose what it had promised to keep?

Where voters are known by their directories (KIP-853), the question does not arise: a voter with an empty disk is a new
one. But voters that come from the settings are known by their ids alone until they have reported their directories. One
that begins with nothing therefore votes for nobody and does not stand, until

- a majority of the voters, itself included, turns out to have no log either: nothing can have been committed; or
- it has, on disk, all that a leader of the current epoch has committed: what it may have forgotten, it has again.

Both tests hold as long as no more than a minority of disks is lost at a time.
"""

from barnabas.core.raft.quorum import Quorum
from barnabas.core.raft.roles import Follower


def hear_of_log(q: Quorum, replica_id: int, end_offset: int) -> None:
    """Another replica's request says how far its log goes."""
    if not q.state.new or end_offset > 0 or replica_id == q.local.id or q.voters.get(replica_id) is None:
        return
    q.as_new_as_we.add(replica_id)
    if q.log.end_offset == 0 and q.is_voter and len(q.as_new_as_we) + 1 >= q.voters.majority:
        q.no_longer_new()


def catch_up(q: Quorum, role: Follower) -> None:
    """Do we have all that the leader has committed in its own epoch? (What it says earlier may be too little.)"""
    if not q.state.new or not role.has_fetched:
        return
    reached = min(q.high_watermark, q.log.flushed_offset)
    committed_here = bool(q.log.epochs) and q.log.epochs[-1][0] == q.epoch and q.log.epochs[-1][1] < reached
    if committed_here and q.log.flushed_offset >= role.leader_high_watermark:
        q.no_longer_new()

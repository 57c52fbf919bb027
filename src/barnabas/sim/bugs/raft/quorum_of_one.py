"""The quorum's leader counts its own log as committed, without a majority."""

from collections.abc import Callable

from barnabas.core.raft.leader import leading
from barnabas.core.raft.quorum import Quorum
from barnabas.core.raft.roles import Leader
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[Quorum, Leader], None]) -> object:
    def update_high_watermark(q: Quorum, role: Leader) -> None:
        for voter in q.voters.voters:
            progress = role.progress_of(voter)
            if progress is not None:
                progress.end_offset = max(progress.end_offset, q.log.flushed_offset)
        right(q, role)

    return update_high_watermark


BUG = Bug("quorum-of-one", "metadata is committed without a majority", leading, "update_high_watermark", _make, nodes=3)

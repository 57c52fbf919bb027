"""The quorum's leader counts its own log as committed, without a majority."""

from typing import Any

from barnabas.core.raft import leading
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def update_high_watermark(q: Any, role: Any) -> None:
        for voter in q.voters.voters:
            progress = role.progress_of(voter)
            if progress is not None:
                progress.end_offset = max(progress.end_offset, q.log.flushed_offset)
        right(q, role)

    return update_high_watermark


BUG = Bug("quorum-of-one", "metadata is committed without a majority", leading, "update_high_watermark", _make, nodes=3)

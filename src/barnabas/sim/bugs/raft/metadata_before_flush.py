"""Records of the metadata log count as flushed when they are written: a change is answered before its fsync."""

from barnabas.broker.quorum.driver import QuorumDriver
from barnabas.core.raft.events import LogFlushed
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def flush(self: QuorumDriver) -> None:
        wanted, self._flush_wanted = self._flush_wanted, None
        if wanted is not None and not self.closed:
            self.step(LogFlushed(self.raft.log.end_offset, wanted.generation))

    return flush


BUG = Bug("metadata-before-flush", "metadata is answered before the fsync", QuorumDriver, "_flush", _make)

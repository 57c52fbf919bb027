"""Everything that can happen to a member of the quorum. One event is one step."""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from barnabas.core.raft.messages import OffsetAndEpoch, Request, Response
from barnabas.core.raft.voters import VoterSet


class Tick(Struct, frozen=True):
    """`next_deadline_ms()` has come. An early or a late one does no harm."""


class RequestReceived(Struct, frozen=True):
    """Its token is answered exactly once: by a reply, or by a read the driver serves, in this step or a later one."""

    message: Request
    token: object


class ResponseReceived(Struct, frozen=True):
    """`request` is the very object that was sent: an answer to anything but an open request is ignored."""

    source: int
    request: Request
    message: Response


class RequestFailed(Struct, frozen=True):
    """No answer will come: it could not be sent, or the connection broke."""

    source: int
    request: Request


class ConnectionLost(Struct, frozen=True):
    """The other side closed, or could not be reached at all: its process is likely gone."""

    source: int


class LogFlushed(Struct, frozen=True):
    """All of the log below `end_offset` is on disk. `generation` is that of the flush asked for: truncating the log
    begins a new one, and a flush that was under way then says nothing about what was written since."""

    end_offset: int
    generation: int


class SnapshotDownloaded(Struct, frozen=True):
    """The snapshot asked for is whole, verified and on disk, with the voters it names."""

    snapshot_id: OffsetAndEpoch
    voters: VoterSet


class SnapshotFailed(Struct, frozen=True):
    """The snapshot downloaded was of no use; the part file is gone."""

    snapshot_id: OffsetAndEpoch


class SnapshotTaken(Struct, frozen=True):
    """The driver wrote a snapshot of its own, of committed records. `trimmed`: the log now begins where it ends; it
    was flushed before, or a truncation that a crash takes back would leave an old tail behind the new start."""

    snapshot_id: OffsetAndEpoch
    trimmed: bool


class Propose(Struct, frozen=True):
    """Records for the log, in one batch. `epoch`: refuse unless we lead this very epoch (a controller decides on the
    state of its epoch). The token comes back in `done`."""

    records: Sequence[object]
    token: object
    epoch: int | None = None


class Resign(Struct, frozen=True):
    """Stop leading and tell the voters, the one furthest first; a node that does not lead does nothing."""


Event: TypeAlias = (
    Tick
    | RequestReceived
    | ResponseReceived
    | RequestFailed
    | ConnectionLost
    | LogFlushed
    | SnapshotDownloaded
    | SnapshotFailed
    | SnapshotTaken
    | Propose
    | Resign
)

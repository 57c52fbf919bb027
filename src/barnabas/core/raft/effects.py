"""What a step asks its driver to do. The order is the safety of the whole (S4):

1. `persist`: on disk before anything else of this step or a later one happens. A vote that left and is forgotten can be
   given twice; a leader that forgets it led may lead the same epoch again with other records.
2. `log`: changes to the log, in order, before the next step. They need not be on disk yet.
3. `flush`: put the log on disk, in a thread if need be, and report LogFlushed with the same numbers.
4. `send`, `replies`, `reads`, `snapshot_part`, `done`, `committed`, `role`, `voters`: any order.

A driver that persists in a thread keeps the effects of later steps behind it, in order.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from barnabas.core.raft.messages import BatchSummary, FetchResponse, OffsetAndEpoch, Request, Response
from barnabas.core.raft.voters import Endpoint, ReplicaKey, VoterSet
from barnabas.model.errors import ErrorCode


class PersistentState(Struct, frozen=True):
    """The quorum-state file: what must survive a crash."""

    epoch: int = 0
    voted_for: ReplicaKey | None = None
    leader_id: int | None = None
    new: bool = False  # a disk that was empty, of a voter known by its id alone: see newcomers.py


class LeaderChange(Struct, frozen=True):
    """The first record of every epoch (LeaderChangeMessage)."""

    leader_id: int
    voters: tuple[ReplicaKey, ...]
    granting_voters: tuple[ReplicaKey, ...]


class KRaftVersion(Struct, frozen=True):
    k_raft_version: int


ControlRecord: TypeAlias = LeaderChange | KRaftVersion | VoterSet


class AppendBatch(Struct, frozen=True):
    """One batch of our own as leader: either `records`, as proposed, or a control batch."""

    base_offset: int
    epoch: int
    records: Sequence[object] = ()
    control: tuple[ControlRecord, ...] = ()


class AppendFetched(Struct, frozen=True):
    """Batches of the leader, to be written as they came. `batches` may be fewer than `records` holds."""

    batches: tuple[BatchSummary, ...]
    records: object


class Truncate(Struct, frozen=True):
    end_offset: int


class ResetLog(Struct, frozen=True):
    """Drop the whole log; it begins anew, empty, at the end of this snapshot. Whole or not at all, also in a crash."""

    snapshot_id: OffsetAndEpoch


LogChange: TypeAlias = AppendBatch | AppendFetched | Truncate | ResetLog


class Flush(NamedTuple):
    end_offset: int
    generation: int


class Send(NamedTuple):
    """`node_id` is negative for a bootstrap server, whose id nobody knows yet."""

    node_id: int
    endpoint: Endpoint
    message: Request


class Reply(NamedTuple):
    token: object
    message: Response


class ServeFetch(Struct, frozen=True):
    """Answer the token with `response`, and in it whole batches from `fetch_offset` on, below `end_offset`."""

    token: object
    response: FetchResponse
    fetch_offset: int
    end_offset: int
    max_bytes: int


class ServeSnapshot(Struct, frozen=True):
    """Answer the token with a piece of this snapshot, or SNAPSHOT_NOT_FOUND or POSITION_OUT_OF_RANGE."""

    token: object
    snapshot_id: OffsetAndEpoch
    position: int
    max_bytes: int
    leader_id: int
    leader_epoch: int


class SnapshotPart(Struct, frozen=True):
    """Write this piece of a download. After the `last` one verify the whole and report SnapshotDownloaded."""

    snapshot_id: OffsetAndEpoch
    position: int
    data: bytes | memoryview
    last: bool


class Done(NamedTuple):
    """A proposal's fate. An error other than at once means: nobody knows, it may yet be committed by another leader."""

    token: object
    offset: int | None
    error: ErrorCode | None


class RoleChange(NamedTuple):
    role: str  # leader, follower, candidate, prospective, resigned, unattached; an observer's have `observer` true
    epoch: int
    leader_id: int | None
    observer: bool
    epoch_start_offset: int | None = None  # of a leader: its state is whole when it has applied the log up to here


class Effects(Struct, frozen=True):
    persist: PersistentState | None = None
    log: Sequence[LogChange] = ()
    flush: Flush | None = None
    send: Sequence[Send] = ()
    replies: Sequence[Reply] = ()
    reads: Sequence[ServeFetch | ServeSnapshot] = ()
    snapshot_part: SnapshotPart | None = None
    done: Sequence[Done] = ()
    committed: int | None = None  # the high watermark, when it moved
    role: RoleChange | None = None
    voters: VoterSet | None = None  # the newest set in the log, when it changed

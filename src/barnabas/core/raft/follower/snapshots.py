"""Snapshots (KIP-630): a replica behind the start of the leader's log takes its snapshot instead, piece by piece.

A download is dropped when another leader is followed. When it is whole and on disk, the log is dropped and begins anew
where the snapshot ends; all before it is committed, so the high watermark is at least there. A snapshot of our own only
says where the log may begin.
"""

from barnabas.core.raft.config import SNAPSHOT_MAX_BYTES
from barnabas.core.raft.effects import ResetLog, SnapshotPart
from barnabas.core.raft.elections import lost_leader
from barnabas.core.raft.events import SnapshotDownloaded, SnapshotFailed, SnapshotTaken
from barnabas.core.raft.learning import learn
from barnabas.core.raft.messages import NONE, FetchSnapshotRequest, FetchSnapshotResponse, OffsetAndEpoch
from barnabas.core.raft.quorum import Quorum, QuorumBroken
from barnabas.core.raft.roles import Download, Follower
from barnabas.model.errors import ErrorCode


def start_download(q: Quorum, role: Follower, snapshot_id: OffsetAndEpoch) -> None:
    if snapshot_id.offset > q.high_watermark:  # one that ends before what we know committed holds nothing new
        role.download = Download(snapshot_id)


def poll_download(q: Quorum, role: Follower, download: Download) -> None:
    if download.complete or not q.ready(role.leader.id, FetchSnapshotRequest):
        return
    request = FetchSnapshotRequest(
        cluster_id=q.config.cluster_id,
        replica_id=q.local.id,
        replica_directory_id=q.local.directory_id,
        current_leader_epoch=q.epoch,
        snapshot_id=download.snapshot_id,
        position=download.position,
        max_bytes=q.config.fetch_snapshot_max_bytes,
    )
    q.send(*role.leader, request)


def handle_fetch_snapshot_response(
    q: Quorum, source: int, request: FetchSnapshotRequest, response: FetchSnapshotResponse
) -> None:
    if learn(q, response.leader_epoch, response.leader_id, response.leader_endpoint):
        return
    role = q.role
    if not isinstance(role, Follower) or role.download is None or role.download.complete:
        return
    download = role.download
    if response.error_code != NONE:
        if response.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            lost_leader(q, role)
        elif response.error_code in (ErrorCode.SNAPSHOT_NOT_FOUND, ErrorCode.POSITION_OUT_OF_RANGE):
            role.download = None  # replaced by a newer one: the next Fetch says which
        return
    role.has_fetched = True
    role.fetch_deadline_ms = q.now_ms + q.config.fetch_timeout_ms
    end = response.position + len(response.unaligned_records)
    if (
        response.snapshot_id != download.snapshot_id
        or response.position != download.position
        or not 0 <= response.size <= SNAPSHOT_MAX_BYTES
        or not response.position <= end <= response.size
        or (end == response.position < response.size)
    ):
        role.download = None  # not a valid answer: begin again with a Fetch
        q.requests.pause(source, FetchSnapshotRequest, q.now_ms + q.config.retry_backoff_ms)
        return
    last = end == response.size
    q.out.snapshot_part = SnapshotPart(download.snapshot_id, download.position, response.unaligned_records, last)
    download.position, download.complete = end, last


def handle_downloaded(q: Quorum, event: SnapshotDownloaded | SnapshotFailed) -> None:
    role = q.role
    if not isinstance(role, Follower) or role.download is None or role.download.snapshot_id != event.snapshot_id:
        return  # another leader, another log: what was downloaded is committed, but nobody waits for it
    role.download = None
    if isinstance(event, SnapshotDownloaded) and event.snapshot_id.offset > q.high_watermark:
        q.out.log.append(ResetLog(event.snapshot_id))
        q.log.reset(event.snapshot_id, event.voters)
        q.out.voters = event.voters
        q.advance(event.snapshot_id.offset)


def handle_taken(q: Quorum, event: SnapshotTaken) -> None:
    snapshot_id = event.snapshot_id
    if snapshot_id.offset > q.high_watermark:
        raise QuorumBroken(f"a snapshot up to {snapshot_id.offset}, above the high watermark {q.high_watermark}")
    if q.log.snapshot is None or snapshot_id.offset > q.log.snapshot.offset:
        q.log.snapshot = snapshot_id
    if event.trimmed:
        q.log.trim(snapshot_id)

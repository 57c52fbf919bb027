"""A leader serves its log: Fetch with long polls, and FetchSnapshot (KIP-595, KIP-630, KIP-1166).

A fetch that agrees with our log says how far a replica has flushed; one that does not is told where the logs part, or
which snapshot it needs, and says nothing. Only whole agreement moves the high watermark.
"""

from barnabas.core.raft.config import OBSERVER_SESSION_TIMEOUT_MS, OBSERVERS_MAX, PARKED_FETCHES_MAX
from barnabas.core.raft.effects import Reply, ServeFetch, ServeSnapshot
from barnabas.core.raft.learning import right_cluster
from barnabas.core.raft.log import Diverging, NeedsSnapshot
from barnabas.core.raft.messages import FetchRequest, FetchResponse, FetchSnapshotRequest, OffsetAndEpoch
from barnabas.core.raft.newcomers import hear_of_log
from barnabas.core.raft.quorum import Quorum
from barnabas.core.raft.roles import Leader, ParkedFetch, Progress
from barnabas.core.raft.voters import ReplicaKey
from barnabas.model.errors import ErrorCode


def handle_fetch(q: Quorum, request: FetchRequest, token: object) -> None:
    if right_cluster(q, request):
        hear_of_log(q, request.replica_id, request.fetch_offset)
    role = _leader_for(q, request, token)
    if role is None:
        return None
    if request.fetch_offset < 0 or request.last_fetched_epoch < 0:
        return q.refuse(request, token, ErrorCode.INVALID_REQUEST)
    key = ReplicaKey(request.replica_id, request.replica_directory_id)
    if q.voters.has(key):
        role.heard.add(key.id)
    match q.log.compare(request.fetch_offset, request.last_fetched_epoch):
        case Diverging(end):
            return _answer(q, token, diverging_epoch=end)
        case NeedsSnapshot(snapshot_id):
            return _answer(q, token, snapshot_id=snapshot_id)
    if key.id >= 0:
        _remember(q, role, key, request.fetch_offset)
    # Parked in any case: the poll of this step serves it if there is something to say.
    old = role.parked.pop(key, None)
    if old is not None:
        _serve(q, old)
    if len(role.parked) >= PARKED_FETCHES_MAX:
        return _serve(q, ParkedFetch(request, token, q.now_ms))
    wait_ms = max(0, min(request.max_wait_ms, q.config.fetch_max_wait_ms))
    parked = role.parked[key] = ParkedFetch(request, token, q.now_ms + wait_ms)
    if role.parked_deadline_ms is None or parked.deadline_ms < role.parked_deadline_ms:
        role.parked_deadline_ms = parked.deadline_ms
    if _has_news(q, parked):
        role.parked_stale = True
    return None


def poll_parked(q: Quorum, role: Leader) -> None:
    due = role.parked_deadline_ms is not None and q.now_ms >= role.parked_deadline_ms
    if role.parked_stale or due:
        role.parked_stale = False
        for key, parked in list(role.parked.items()):
            if q.now_ms >= parked.deadline_ms or _has_news(q, parked):
                del role.parked[key]
                _serve(q, parked)
        role.parked_deadline_ms = min((parked.deadline_ms for parked in role.parked.values()), default=None)
    if role.parked_deadline_ms is not None:
        q.wake_at(role.parked_deadline_ms)


def handle_fetch_snapshot(q: Quorum, request: FetchSnapshotRequest, token: object) -> None:
    role = _leader_for(q, request, token)
    if role is None:
        return None
    if request.position < 0:
        return q.refuse(request, token, ErrorCode.POSITION_OUT_OF_RANGE)
    key = ReplicaKey(request.replica_id, request.replica_directory_id)
    if q.voters.has(key):
        role.heard.add(key.id)
    max_bytes = max(1, min(request.max_bytes, q.config.fetch_snapshot_max_bytes))
    q.out.reads.append(ServeSnapshot(token, request.snapshot_id, request.position, max_bytes, q.local.id, q.epoch))
    return None


def _leader_for(q: Quorum, request: FetchRequest | FetchSnapshotRequest, token: object) -> Leader | None:
    if not right_cluster(q, request, token):
        return None
    if request.current_leader_epoch < q.epoch:
        q.refuse(request, token, ErrorCode.FENCED_LEADER_EPOCH)
    elif request.current_leader_epoch > q.epoch:
        q.refuse(request, token, ErrorCode.UNKNOWN_LEADER_EPOCH)
    elif not isinstance(q.role, Leader):
        q.refuse(request, token, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    else:
        return q.role
    return None


def _remember(q: Quorum, role: Leader, key: ReplicaKey, end_offset: int) -> None:
    progress = role.replicas.get(key)
    if progress is None:
        if len(role.replicas) >= OBSERVERS_MAX:
            _forget_silent(q, role)
        if len(role.replicas) >= OBSERVERS_MAX and not q.voters.has(key):
            return
        progress = role.replicas[key] = Progress()
    # Caught up at the time of its last fetch, when it now has all we had then (as KIP-835 counts it).
    if end_offset >= q.log.end_offset:
        progress.last_caught_up_ms = q.now_ms
    elif end_offset >= progress.leader_end_offset >= 0:
        progress.last_caught_up_ms = max(progress.last_caught_up_ms, progress.last_fetch_ms)
    progress.end_offset = end_offset
    progress.last_fetch_ms = q.now_ms
    progress.leader_end_offset = q.log.end_offset


def _forget_silent(q: Quorum, role: Leader) -> None:
    oldest_ms = q.now_ms - OBSERVER_SESSION_TIMEOUT_MS
    for key, progress in list(role.replicas.items()):
        if progress.last_fetch_ms < oldest_ms and not q.voters.has(key):
            del role.replicas[key]


def _has_news(q: Quorum, parked: ParkedFetch) -> bool:
    request = parked.request
    return request.fetch_offset < q.log.end_offset or request.high_watermark < q.high_watermark


def _serve(q: Quorum, parked: ParkedFetch) -> None:
    request = parked.request
    max_bytes = max(1, min(request.max_bytes, q.config.fetch_max_bytes))
    q.out.reads.append(ServeFetch(parked.token, _response(q), request.fetch_offset, q.log.end_offset, max_bytes))


def _answer(
    q: Quorum,
    token: object,
    *,
    diverging_epoch: OffsetAndEpoch | None = None,
    snapshot_id: OffsetAndEpoch | None = None,
) -> None:
    q.out.replies.append(Reply(token, _response(q, diverging_epoch, snapshot_id)))


def _response(
    q: Quorum, diverging_epoch: OffsetAndEpoch | None = None, snapshot_id: OffsetAndEpoch | None = None
) -> FetchResponse:
    return FetchResponse(
        leader_id=q.local.id,
        leader_epoch=q.epoch,
        leader_endpoint=q.config.endpoints[0],
        high_watermark=q.high_watermark,
        log_start_offset=q.log.start.offset,
        diverging_epoch=diverging_epoch,
        snapshot_id=snapshot_id,
    )

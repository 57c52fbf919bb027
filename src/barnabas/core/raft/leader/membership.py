"""Changing who votes, one voter at a time (KIP-853): AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter at the leader.

One change at a time, and none before a record of the leader's own epoch is committed: then two majorities of
neighbouring sets always share a voter. A new voter first catches up as an observer, so that adding it does not stop
commits. The new set holds from the moment its record is in the log, and is answered when a majority of it has that.
"""

from typing import Protocol, TypeAlias

from msgspec.structs import replace

from barnabas.core.raft.effects import ControlRecord, Reply
from barnabas.core.raft.learning import right_cluster
from barnabas.core.raft.messages import (
    NONE,
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    Response,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from barnabas.core.raft.quorum import Quorum
from barnabas.core.raft.roles import Leader, Progress, VoterChange
from barnabas.core.raft.voters import ReplicaKey, Voter, VoterSet
from barnabas.model.errors import ErrorCode

ChangeRequest: TypeAlias = AddRaftVoterRequest | RemoveRaftVoterRequest | UpdateRaftVoterRequest

CHANGE_TIMEOUT_MS = 30_000  # of a request that names none; Kafka's admin client waits as long


class Append(Protocol):
    def __call__(self, q: Quorum, *, control: tuple[ControlRecord, ...]) -> int: ...


def handle_change(q: Quorum, request: ChangeRequest, token: object) -> None:
    role = _leader_free_to_change(q, request, token)
    if role is None:
        return
    match request:
        case AddRaftVoterRequest():
            _add(q, role, request, token)
        case RemoveRaftVoterRequest():
            _remove(q, role, request, token)
        case UpdateRaftVoterRequest():
            _update(q, role, request, token)


def _leader_free_to_change(q: Quorum, request: ChangeRequest, token: object) -> Leader | None:
    if not right_cluster(q, request, token):
        return None
    role = q.role
    if isinstance(request, UpdateRaftVoterRequest) and request.current_leader_epoch != q.epoch:
        older = request.current_leader_epoch < q.epoch
        q.refuse(request, token, ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH)
    elif not isinstance(role, Leader):
        q.refuse(request, token, ErrorCode.NOT_LEADER_OR_FOLLOWER, f"the leader is node {q.leader_id}")
    elif role.change is not None or q.log.voters_offset >= q.high_watermark:
        q.refuse(request, token, ErrorCode.REQUEST_TIMED_OUT, "another change of the voters is under way")
    elif q.high_watermark <= role.epoch_start_offset:
        q.refuse(request, token, ErrorCode.REQUEST_TIMED_OUT, "the leader is new and has committed nothing yet")
    else:
        return role
    return None


def _add(q: Quorum, role: Leader, request: AddRaftVoterRequest, token: object) -> None:
    if request.voter_id < 0 or not request.listeners:
        return q.refuse(request, token, ErrorCode.INVALID_REQUEST, "a voter has an id and a controller listener")
    if q.voters.get(request.voter_id) is not None:
        return q.refuse(request, token, ErrorCode.DUPLICATE_VOTER, f"{request.voter_id} is a voter already")
    voter = Voter(request.voter_id, request.voter_directory_id, request.listeners)
    timeout_ms = request.timeout_ms if request.timeout_ms > 0 else CHANGE_TIMEOUT_MS
    role.change = VoterChange(request, token, q.now_ms + timeout_ms, voter, q.log.end_offset)
    return None


def _remove(q: Quorum, role: Leader, request: RemoveRaftVoterRequest, token: object) -> None:
    if not _is_exactly(q, request):
        return q.refuse(request, token, ErrorCode.VOTER_NOT_FOUND, f"{request.voter_id} is no voter with this disk")
    if len(q.voters) == 1:
        return q.refuse(request, token, ErrorCode.INVALID_REQUEST, "the last voter cannot be removed")
    role.change = VoterChange(request, token, q.now_ms + CHANGE_TIMEOUT_MS)
    return None


def _update(q: Quorum, role: Leader, request: UpdateRaftVoterRequest, token: object) -> None:
    if not _is_exactly(q, request):
        return q.refuse(request, token, ErrorCode.VOTER_NOT_FOUND)
    if not request.listeners:
        return q.refuse(request, token, ErrorCode.INVALID_REQUEST)
    if _changed(q.voters, request) == q.voters:
        q.out.replies.append(Reply(token, _done(q, request)))
        return None
    role.change = VoterChange(request, token, q.now_ms + CHANGE_TIMEOUT_MS)
    return None


def _is_exactly(q: Quorum, request: RemoveRaftVoterRequest | UpdateRaftVoterRequest) -> bool:
    return q.voters.has(ReplicaKey(request.voter_id, request.voter_directory_id))


def _changed(voters: VoterSet, request: ChangeRequest) -> VoterSet:
    match request:
        case RemoveRaftVoterRequest():
            return voters.without(request.voter_id)
        case AddRaftVoterRequest():
            return voters.with_voter(Voter(request.voter_id, request.voter_directory_id, request.listeners))
        case UpdateRaftVoterRequest():
            return voters.with_voter(
                Voter(
                    request.voter_id,
                    request.voter_directory_id,
                    request.listeners,
                    request.min_supported_version,
                    request.max_supported_version,
                )
            )


def with_own_entry(q: Quorum) -> VoterSet:
    """The voters, and in them this node with the disk and the addresses it has."""
    known = q.voters.get(q.local.id)
    if known is None or not q.is_voter or (known.key == q.local and known.endpoints == q.config.endpoints):
        return q.voters
    return q.voters.with_voter(replace(known, directory_id=q.local.directory_id, endpoints=q.config.endpoints))


def poll_own_entry(q: Quorum, role: Leader) -> None:
    """A leader at a new address says so when it is free to, as followers by UpdateRaftVoter (follower/joining.py)."""
    busy = role.change is not None or q.log.voters_offset >= q.high_watermark
    if busy or q.high_watermark <= role.epoch_start_offset or with_own_entry(q) is q.voters:
        return
    request = UpdateRaftVoterRequest(
        cluster_id=None,
        current_leader_epoch=q.epoch,
        voter_id=q.local.id,
        voter_directory_id=q.local.directory_id,
        listeners=q.config.endpoints,
    )
    role.change = VoterChange(request, None, q.now_ms + CHANGE_TIMEOUT_MS)


def poll_change(q: Quorum, role: Leader, append: Append) -> None:
    """Carry the change on as far as it goes."""
    change = role.change
    if change is None:
        return
    if change.offset is None:
        caught_up = change.catching_up is None or (
            role.replicas.get(change.catching_up.key, Progress()).end_offset >= change.target_offset
        )
        if caught_up:
            change.offset = append(q, control=(_changed(q.voters, change.request),))
            if isinstance(change.request, AddRaftVoterRequest) and not change.request.ack_when_committed:
                _reply(q, change, NONE)
        elif q.now_ms >= change.deadline_ms:
            _reply(q, change, ErrorCode.REQUEST_TIMED_OUT, "the new voter has not caught up")
            role.change = None
            return
    elif change.offset < q.high_watermark:
        _reply(q, change, NONE)
        role.change = None
        return
    if change.token is not None:
        if q.now_ms >= change.deadline_ms:
            # The record stays in the log and may yet be committed; only the answer is given up.
            _reply(q, change, ErrorCode.REQUEST_TIMED_OUT, "the change is not committed yet")
        else:
            q.wake_at(change.deadline_ms)


def _reply(q: Quorum, change: VoterChange, code: ErrorCode, message: str | None = None) -> None:
    token, change.token = change.token, None
    if token is None:
        return
    if code == NONE:
        q.out.replies.append(Reply(token, _done(q, change.request)))
    else:
        q.refuse(change.request, token, code, message)


def _done(q: Quorum, request: ChangeRequest) -> Response:
    match request:
        case AddRaftVoterRequest():
            return AddRaftVoterResponse()
        case RemoveRaftVoterRequest():
            return RemoveRaftVoterResponse()
        case UpdateRaftVoterRequest():
            return UpdateRaftVoterResponse(
                leader_id=q.leader_id, leader_epoch=q.epoch, leader_endpoint=q.leader_endpoint
            )

"""An error as the answer to any request, in the shape that request wants, naming the leader we know of."""

from typing import assert_never

from barnabas.core.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    Request,
    Response,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoteRequest,
    VoteResponse,
)
from barnabas.core.raft.voters import Endpoint
from barnabas.model.errors import ErrorCode


def refusal(
    request: Request, code: ErrorCode, message: str | None, leader_id: int, epoch: int, endpoint: Endpoint | None
) -> Response:
    match request:
        case VoteRequest():
            return VoteResponse(error_code=code, leader_id=leader_id, leader_epoch=epoch, leader_endpoint=endpoint)
        case BeginQuorumEpochRequest():
            return BeginQuorumEpochResponse(
                error_code=code, leader_id=leader_id, leader_epoch=epoch, leader_endpoint=endpoint
            )
        case EndQuorumEpochRequest():
            return EndQuorumEpochResponse(
                error_code=code, leader_id=leader_id, leader_epoch=epoch, leader_endpoint=endpoint
            )
        case FetchRequest():
            return FetchResponse(error_code=code, leader_id=leader_id, leader_epoch=epoch, leader_endpoint=endpoint)
        case FetchSnapshotRequest(snapshot_id=snapshot_id):
            return FetchSnapshotResponse(
                error_code=code,
                leader_id=leader_id,
                leader_epoch=epoch,
                leader_endpoint=endpoint,
                snapshot_id=snapshot_id,
            )
        case AddRaftVoterRequest():
            return AddRaftVoterResponse(error_code=code, error_message=message)
        case RemoveRaftVoterRequest():
            return RemoveRaftVoterResponse(error_code=code, error_message=message)
        case UpdateRaftVoterRequest():
            return UpdateRaftVoterResponse(
                error_code=code, leader_id=leader_id, leader_epoch=epoch, leader_endpoint=endpoint
            )
        case _:
            assert_never(request)

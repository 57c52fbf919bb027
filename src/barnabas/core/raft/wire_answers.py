"""Responses <-> bodies of the codec; the other half of wire_form.py.

    body = response_body(message)                                  for codec.encode_response
    message = response_from(api_key, codec.decode_response(...))

The records of a Fetch are read by batches.py into summaries; writing one, the driver puts `records` in itself, since it
alone has the bytes. An error of the whole request (a wrong cluster) stands at the top, all others at the partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, Required, TypedDict

from barnabas.core.raft import messages as m
from barnabas.core.raft.batches import summaries
from barnabas.core.raft.voters import Endpoint
from barnabas.core.raft.wire_form import METADATA_TOPIC_ID, Topic, id_body, named, only, taken
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import METADATA_TOPIC
from barnabas.wire.codec import Decoded

if TYPE_CHECKING:
    from barnabas.wire.messages import FetchResponse, FetchSnapshotResponse, VoteResponse

_TOP_LEVEL = (ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


class _Leader(Protocol):
    leader_id: int
    leader_epoch: int


class _Part(_Leader, Protocol):
    error_code: int


class _Node(Protocol):
    node_id: int
    host: str
    port: int


class _VoterResponse(Protocol):
    """What the answers to Vote, BeginQuorumEpoch and EndQuorumEpoch have in common."""

    error_code: int

    @property
    def topics(self) -> Sequence[Topic[_Part]]: ...
    @property
    def node_endpoints(self) -> Sequence[_Node]: ...


class _LeaderFields(TypedDict):
    leader_id: int
    leader_epoch: int
    leader_endpoint: Endpoint | None


class _Answer(TypedDict, total=False):
    error_code: Required[ErrorCode]
    leader_id: int
    leader_epoch: int
    leader_endpoint: Endpoint | None


def response_body(message: m.Response) -> dict[str, object]:
    top = int(message.error_code) if message.error_code in _TOP_LEVEL else 0
    leader = {"leader_id": message.leader_id, "leader_epoch": message.leader_epoch}
    partition: dict[str, object] = {"error_code": 0 if top else int(message.error_code)}
    body: dict[str, object] = {"error_code": top, "node_endpoints": _node_endpoints(message)}
    match message:
        case m.VoteResponse(vote_granted=granted):
            return body | named(partition | leader | {"vote_granted": granted})
        case m.BeginQuorumEpochResponse() | m.EndQuorumEpochResponse():
            return body | named(partition | leader)
        case m.FetchResponse():
            partition |= {
                "partition_index": 0,
                "high_watermark": message.high_watermark,
                "last_stable_offset": message.high_watermark,
                "log_start_offset": message.log_start_offset,
                "current_leader": leader,
                "aborted_transactions": [],
                "preferred_read_replica": -1,
                "records": message.records,
            }
            if message.diverging_epoch is not None:
                partition["diverging_epoch"] = id_body(message.diverging_epoch)
            if message.snapshot_id is not None:
                partition["snapshot_id"] = id_body(message.snapshot_id)
            responses = [] if top else [{"topic_id": METADATA_TOPIC_ID, "partitions": [partition]}]
            return body | {"throttle_time_ms": 0, "session_id": 0, "responses": responses}
        case m.FetchSnapshotResponse():
            partition |= {
                "index": 0,
                "snapshot_id": id_body(message.snapshot_id),
                "current_leader": leader,
                **taken(message, "size position unaligned_records"),
            }
            return body | {"throttle_time_ms": 0, "topics": [{"name": METADATA_TOPIC, "partitions": [partition]}]}
        case m.AddRaftVoterResponse() | m.RemoveRaftVoterResponse():
            return {
                "throttle_time_ms": 0,
                "error_code": int(message.error_code),
                "error_message": message.error_message,
            }
        case m.UpdateRaftVoterResponse():
            endpoint = message.leader_endpoint or Endpoint("", "", -1)
            current = leader | {"host": endpoint.host, "port": endpoint.port}
            return {"throttle_time_ms": 0, "error_code": int(message.error_code), "current_leader": current}


def _node_endpoints(message: m.Response) -> list[dict[str, object]]:
    if message.leader_endpoint is None or message.leader_id == m.NO_LEADER:
        return []
    return [{"node_id": message.leader_id, "host": message.leader_endpoint.host, "port": message.leader_endpoint.port}]


def response_from(api_key: int, body: Decoded) -> m.Response:
    """ProtocolError when the records in it are damaged, KafkaError when it is about another log."""
    match api_key:
        case 80:
            return m.AddRaftVoterResponse(error_code=ErrorCode(body.error_code), error_message=body.error_message)
        case 81:
            return m.RemoveRaftVoterResponse(error_code=ErrorCode(body.error_code), error_message=body.error_message)
        case 82:
            current = body.current_leader
            return m.UpdateRaftVoterResponse(
                error_code=ErrorCode(body.error_code),
                leader_id=current.leader_id,
                leader_epoch=current.leader_epoch,
                leader_endpoint=Endpoint("", current.host, current.port) if current.port > 0 else None,
            )
        case 1:
            return _fetch_response(body)
        case 59:
            return _snapshot_response(body)
        case 52:
            vote: VoteResponse = body
            granted = not vote.error_code and only(vote.topics, "topic_name", "partition_index").vote_granted
            return m.VoteResponse(vote_granted=granted, **_voter_answer(vote))
        case 53:
            return m.BeginQuorumEpochResponse(**_voter_answer(body))
        case 54:
            return m.EndQuorumEpochResponse(**_voter_answer(body))
    raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"API {api_key} is not the quorum's")


def _voter_answer(body: _VoterResponse) -> _Answer:
    if body.error_code:
        return {"error_code": ErrorCode(body.error_code)}
    part = only(body.topics, "topic_name", "partition_index")
    return {"error_code": ErrorCode(part.error_code), **_leader(body.node_endpoints, part)}


def _fetch_response(body: FetchResponse) -> m.FetchResponse:
    if body.error_code:
        return m.FetchResponse(error_code=ErrorCode(body.error_code))
    part = only(body.responses, "topic_id", "partition_index")
    diverging, snapshot = part.diverging_epoch, part.snapshot_id
    return m.FetchResponse(
        error_code=ErrorCode(part.error_code),
        high_watermark=part.high_watermark,
        log_start_offset=part.log_start_offset,
        diverging_epoch=m.OffsetAndEpoch(diverging.end_offset, diverging.epoch) if diverging.end_offset >= 0 else None,
        snapshot_id=m.OffsetAndEpoch(snapshot.end_offset, snapshot.epoch) if snapshot.end_offset >= 0 else None,
        batches=summaries(part.records) if part.records else (),
        records=part.records,
        **_leader(body.node_endpoints, part.current_leader),
    )


def _snapshot_response(body: FetchSnapshotResponse) -> m.FetchSnapshotResponse:
    if body.error_code:
        return m.FetchSnapshotResponse(error_code=ErrorCode(body.error_code))
    part = only(body.topics, "name", "index")
    return m.FetchSnapshotResponse(
        error_code=ErrorCode(part.error_code),
        snapshot_id=m.OffsetAndEpoch(part.snapshot_id.end_offset, part.snapshot_id.epoch),
        unaligned_records=part.unaligned_records or b"",
        **taken(part, "size position"),
        **_leader(body.node_endpoints, part.current_leader),
    )


def _leader(nodes: Sequence[_Node], named: _Leader) -> _LeaderFields:
    places = (Endpoint("", node.host, node.port) for node in nodes if node.node_id == named.leader_id)
    return {
        "leader_id": named.leader_id,
        "leader_epoch": named.leader_epoch,
        "leader_endpoint": next(places, None),
    }

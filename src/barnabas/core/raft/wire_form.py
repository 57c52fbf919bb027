"""Messages <-> bodies of the codec: where each field stands in its API's nested form (Vote 52, BeginQuorumEpoch 53,
EndQuorumEpoch 54, Fetch 1, FetchSnapshot 59, AddRaftVoter 80, RemoveRaftVoter 81, UpdateRaftVoter 82).

    api_key, version, body = request_body(message)      for codec.encode_request
    request_from(api_key, codec.decode_request(...))    KafkaError when it is not about the metadata log

Responses: wire_answers.py. We speak the newest version of each; Kafka's own members do too, since 4.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from barnabas.core.raft import messages as m
from barnabas.core.raft.voters import Endpoint, ReplicaKey
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import METADATA_TOPIC
from barnabas.wire.codec import Decoded

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        AddRaftVoterRequest,
        BeginQuorumEpochRequest,
        EndQuorumEpochRequest,
        FetchRequest,
        FetchSnapshotRequest,
        RemoveRaftVoterRequest,
        UpdateRaftVoterRequest,
        VoteRequest,
    )

P = TypeVar("P", covariant=True)

METADATA_TOPIC_ID = bytes(15) + b"\x01"  # reserved for it since KIP-516

VERSIONS = {1: 18, 52: 2, 53: 1, 54: 1, 59: 1, 80: 1, 81: 0, 82: 0}

_VOTE = "replica_epoch replica_id replica_directory_id voter_directory_id last_offset_epoch last_offset pre_vote"


def request_body(message: m.Request) -> tuple[int, int, dict[str, object]]:
    key, body = _request(message)
    return key, VERSIONS[key], body | {"cluster_id": message.cluster_id}


def _request(message: m.Request) -> tuple[int, dict[str, object]]:
    match message:
        case m.VoteRequest():
            return 52, {"voter_id": message.voter_id, **named(taken(message, _VOTE))}
        case m.BeginQuorumEpochRequest():
            body = named(taken(message, "voter_directory_id leader_id leader_epoch"))
            return 53, {"voter_id": message.voter_id, "leader_endpoints": _endpoints(message.leader_endpoints), **body}
        case m.EndQuorumEpochRequest():
            candidates = [
                {"candidate_id": key.id, "candidate_directory_id": key.directory_id}
                for key in message.preferred_candidates
            ]
            body = named(taken(message, "leader_id leader_epoch") | {"preferred_candidates": candidates})
            return 54, {"leader_endpoints": _endpoints(message.leader_endpoints), **body}
        case m.FetchRequest():
            partition = taken(
                message, "current_leader_epoch fetch_offset last_fetched_epoch replica_directory_id high_watermark"
            )
            partition |= {"partition": 0, "log_start_offset": -1, "partition_max_bytes": message.max_bytes}
            return 1, {
                "replica_state": {"replica_id": message.replica_id, "replica_epoch": -1},
                "max_wait_ms": message.max_wait_ms,
                "min_bytes": 0,
                "max_bytes": message.max_bytes,
                "isolation_level": 0,
                "session_id": 0,
                "session_epoch": -1,
                "topics": [{"topic_id": METADATA_TOPIC_ID, "partitions": [partition]}],
                "forgotten_topics_data": [],
                "rack_id": "",
            }
        case m.FetchSnapshotRequest():
            partition = taken(message, "current_leader_epoch position replica_directory_id")
            partition |= {"partition": 0, "snapshot_id": id_body(message.snapshot_id)}
            topics = [{"name": METADATA_TOPIC, "partitions": [partition]}]
            return 59, {"replica_id": message.replica_id, "max_bytes": message.max_bytes, "topics": topics}
        case m.AddRaftVoterRequest():
            body = taken(message, "timeout_ms voter_id voter_directory_id ack_when_committed")
            return 80, body | {"listeners": _endpoints(message.listeners)}
        case m.RemoveRaftVoterRequest():
            return 81, taken(message, "voter_id voter_directory_id")
        case m.UpdateRaftVoterRequest():
            feature = taken(message, "min_supported_version max_supported_version")
            body = taken(message, "current_leader_epoch voter_id voter_directory_id")
            return 82, body | {"listeners": _endpoints(message.listeners), "k_raft_version_feature": feature}


def request_from(api_key: int, body: Decoded) -> m.Request:
    match api_key:
        case 52:
            vote: VoteRequest = body
            part = only(vote.topics, "topic_name", "partition_index")
            return m.VoteRequest(cluster_id=vote.cluster_id, voter_id=vote.voter_id, **taken(part, _VOTE))
        case 53:
            begin: BeginQuorumEpochRequest = body
            begin_part = only(begin.topics, "topic_name", "partition_index")
            return m.BeginQuorumEpochRequest(
                cluster_id=begin.cluster_id,
                voter_id=begin.voter_id,
                leader_endpoints=_endpoints_from(begin.leader_endpoints),
                **taken(begin_part, "voter_directory_id leader_id leader_epoch"),
            )
        case 54:
            end: EndQuorumEpochRequest = body
            end_part = only(end.topics, "topic_name", "partition_index")
            return m.EndQuorumEpochRequest(
                cluster_id=end.cluster_id,
                leader_endpoints=_endpoints_from(end.leader_endpoints),
                preferred_candidates=tuple(
                    ReplicaKey(found.candidate_id, found.candidate_directory_id)
                    for found in end_part.preferred_candidates
                ),
                **taken(end_part, "leader_id leader_epoch"),
            )
        case 1:
            fetch: FetchRequest = body
            fetch_part = only(fetch.topics, "topic_id", "partition")
            return m.FetchRequest(
                cluster_id=fetch.cluster_id,
                replica_id=fetch.replica_state.replica_id,
                max_wait_ms=fetch.max_wait_ms,
                max_bytes=min(fetch.max_bytes, fetch_part.partition_max_bytes),
                **taken(
                    fetch_part,
                    "replica_directory_id current_leader_epoch fetch_offset last_fetched_epoch high_watermark",
                ),
            )
        case 59:
            snapshot: FetchSnapshotRequest = body
            snapshot_part = only(snapshot.topics, "name", "partition")
            return m.FetchSnapshotRequest(
                cluster_id=snapshot.cluster_id,
                snapshot_id=m.OffsetAndEpoch(snapshot_part.snapshot_id.end_offset, snapshot_part.snapshot_id.epoch),
                **taken(snapshot, "replica_id max_bytes"),
                **taken(snapshot_part, "replica_directory_id current_leader_epoch position"),
            )
    return _voter_request_from(api_key, body)


def _voter_request_from(api_key: int, body: Decoded) -> m.Request:
    match api_key:
        case 80:
            add: AddRaftVoterRequest = body
            return m.AddRaftVoterRequest(
                listeners=_endpoints_from(add.listeners),
                **taken(add, "cluster_id timeout_ms voter_id voter_directory_id ack_when_committed"),
            )
        case 81:
            remove: RemoveRaftVoterRequest = body
            return m.RemoveRaftVoterRequest(**taken(remove, "cluster_id voter_id voter_directory_id"))
        case 82:
            update: UpdateRaftVoterRequest = body
            return m.UpdateRaftVoterRequest(
                listeners=_endpoints_from(update.listeners),
                **taken(update, "cluster_id current_leader_epoch voter_id voter_directory_id"),
                **taken(update.k_raft_version_feature, "min_supported_version max_supported_version"),
            )
    raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"API {api_key} is not the quorum's")


class _Endpoint(Protocol):
    name: str
    host: str
    port: int


class Topic(Protocol[P]):
    """Of any request or answer of the quorum."""

    @property
    def partitions(self) -> Sequence[P]: ...


def only(topics: Sequence[Topic[P]], name: str, number: str) -> P:
    """The one partition of the one topic the quorum is about."""
    wanted = METADATA_TOPIC_ID if name == "topic_id" else METADATA_TOPIC
    for topic in topics:
        if getattr(topic, name) == wanted and len(topics) == 1 == len(topic.partitions):
            part = topic.partitions[0]
            if getattr(part, number) == 0:
                return part
    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the quorum keeps one log, __cluster_metadata-0")


def taken(source: object, names: str) -> dict[str, Any]:  # for `**`: the arguments of a message are of several types
    return {name: getattr(source, name) for name in names.split()}


def named(partition: dict[str, object]) -> dict[str, object]:
    return {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0} | partition]}]}


def _endpoints(endpoints: Sequence[Endpoint]) -> list[dict[str, object]]:
    return [endpoint._asdict() for endpoint in endpoints]


def _endpoints_from(found: Sequence[_Endpoint]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(endpoint.name, endpoint.host, endpoint.port) for endpoint in found)


def id_body(snapshot_id: m.OffsetAndEpoch) -> dict[str, int]:
    return {"end_offset": snapshot_id.offset, "epoch": snapshot_id.epoch}

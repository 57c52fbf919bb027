"""Every message goes through the codec and comes back as it was; what is not ours is refused."""

import pytest

from barnabas.core.raft import Endpoint, OffsetAndEpoch, ReplicaKey, Voter, VoterSet
from barnabas.core.raft import messages as m
from barnabas.core.raft.batches import decode_control, encode_control, summaries
from barnabas.core.raft.effects import KRaftVersion, LeaderChange
from barnabas.core.raft.wire_answers import response_body, response_from
from barnabas.core.raft.wire_form import METADATA_TOPIC_ID, VERSIONS, request_body, request_from
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire import codec
from barnabas.wire.records import Record, build_batch

DIRECTORY = bytes(range(16))
PLACES = (Endpoint("CONTROLLER", "host", 9093),)
PLACE = Endpoint("", "host", 9093)  # a response does not carry the listener's name
VOTERS = VoterSet.of([Voter(1, DIRECTORY, PLACES), Voter(2, bytes(16), PLACES, 0, 1)])
WHO = {"cluster_id": "cluster", "replica_id": 3, "replica_directory_id": DIRECTORY}

REQUESTS: list[m.Request] = [
    m.VoteRequest(
        **WHO,  # type: ignore[arg-type]
        voter_id=2,
        voter_directory_id=DIRECTORY,
        replica_epoch=7,
        last_offset_epoch=6,
        last_offset=100,
        pre_vote=True,
    ),
    m.BeginQuorumEpochRequest(
        cluster_id=None,
        voter_id=2,
        voter_directory_id=DIRECTORY,
        leader_id=1,
        leader_epoch=4,
        leader_endpoints=PLACES,
    ),
    m.EndQuorumEpochRequest(
        cluster_id="cluster",
        leader_id=1,
        leader_epoch=4,
        preferred_candidates=(ReplicaKey(2, DIRECTORY), ReplicaKey(3)),
        leader_endpoints=PLACES,
    ),
    m.FetchRequest(
        **WHO,  # type: ignore[arg-type]
        current_leader_epoch=4,
        fetch_offset=12,
        last_fetched_epoch=3,
        high_watermark=11,
        max_wait_ms=500,
        max_bytes=4096,
    ),
    m.FetchSnapshotRequest(
        **WHO,  # type: ignore[arg-type]
        current_leader_epoch=4,
        snapshot_id=OffsetAndEpoch(10, 3),
        position=25,
        max_bytes=100,
    ),
    m.AddRaftVoterRequest(
        cluster_id="cluster", timeout_ms=1000, voter_id=4, voter_directory_id=DIRECTORY, listeners=PLACES
    ),
    m.RemoveRaftVoterRequest(cluster_id="cluster", voter_id=4, voter_directory_id=DIRECTORY),
    m.UpdateRaftVoterRequest(
        cluster_id="cluster", current_leader_epoch=4, voter_id=4, voter_directory_id=DIRECTORY, listeners=PLACES
    ),
]
LEADER = {"leader_id": 1, "leader_epoch": 4, "leader_endpoint": PLACE}
RESPONSES: list[tuple[int, m.Response]] = [
    (52, m.VoteResponse(vote_granted=True, **LEADER)),  # type: ignore[arg-type]
    (52, m.VoteResponse(error_code=ErrorCode.FENCED_LEADER_EPOCH, leader_epoch=4)),
    (52, m.VoteResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)),
    (53, m.BeginQuorumEpochResponse(**LEADER)),  # type: ignore[arg-type]
    (54, m.EndQuorumEpochResponse(error_code=ErrorCode.FENCED_LEADER_EPOCH, **LEADER)),  # type: ignore[arg-type]
    (1, m.FetchResponse(high_watermark=9, log_start_offset=2, **LEADER)),  # type: ignore[arg-type]
    (1, m.FetchResponse(diverging_epoch=OffsetAndEpoch(5, 2), **LEADER)),  # type: ignore[arg-type]
    (1, m.FetchResponse(snapshot_id=OffsetAndEpoch(5, 2), **LEADER)),  # type: ignore[arg-type]
    (1, m.FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)),
    (
        59,
        m.FetchSnapshotResponse(
            snapshot_id=OffsetAndEpoch(5, 2),
            size=30,
            position=10,
            unaligned_records=b"0123456789",
            **LEADER,  # type: ignore[arg-type]
        ),
    ),
    (80, m.AddRaftVoterResponse(error_code=ErrorCode.DUPLICATE_VOTER, error_message="a voter already")),
    (81, m.RemoveRaftVoterResponse()),
    (82, m.UpdateRaftVoterResponse(**LEADER)),  # type: ignore[arg-type]
]


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "STRICT", True)


@pytest.mark.parametrize("message", REQUESTS, ids=lambda message: type(message).__name__)
def test_a_request_comes_back_as_it_was(message: m.Request) -> None:
    key, version, body = request_body(message)
    data = codec.encode_request(key, version, body)
    assert request_from(key, codec.decode_request(key, version, data)) == message


@pytest.mark.parametrize(("key", "message"), RESPONSES, ids=lambda value: str(getattr(value, "error_code", value)))
def test_a_response_comes_back_as_it_was(key: int, message: m.Response) -> None:
    data = codec.encode_response(key, VERSIONS[key], response_body(message))
    found = response_from(key, codec.decode_response(key, VERSIONS[key], data))
    if isinstance(found, m.FetchSnapshotResponse):
        assert bytes(found.unaligned_records) == message.unaligned_records  # type: ignore[union-attr]
        found = m.FetchSnapshotResponse(
            snapshot_id=found.snapshot_id,
            size=found.size,
            position=found.position,
            unaligned_records=bytes(found.unaligned_records),
            **LEADER,  # type: ignore[arg-type]
        )
    assert found == message


def test_another_topic_is_refused() -> None:
    key, version, body = request_body(REQUESTS[3])
    decoded = codec.decode_request(key, version, codec.encode_request(key, version, body))
    decoded.topics[0].topic_id = bytes(16)
    with pytest.raises(KafkaError) as problem:
        request_from(key, decoded)
    assert problem.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert bytes(16) != METADATA_TOPIC_ID


@pytest.mark.parametrize(
    "record",
    [LeaderChange(1, (ReplicaKey(1), ReplicaKey(2)), (ReplicaKey(1),)), KRaftVersion(1), VOTERS],
)
def test_a_control_record_comes_back_as_it_was(record: LeaderChange | KRaftVersion | VoterSet) -> None:
    assert decode_control(*encode_control(record)) == record


def test_fetched_batches_are_summed_up() -> None:
    control = [encode_control(LeaderChange(1, (), ())), encode_control(VOTERS)]
    first = build_batch(
        [Record(10 + number, 0, key, value, ()) for number, (key, value) in enumerate(control)],
        leader_epoch=3,
        control=True,
    )
    second = build_batch([Record(12, 0, None, b"x", ())], leader_epoch=4)
    found = summaries(bytes(first + second + second[:20]))
    assert found == (m.BatchSummary(10, 11, 3, VOTERS), m.BatchSummary(12, 12, 4))
    second[-1] ^= 1
    with pytest.raises(codec.ProtocolError):
        summaries(bytes(second))

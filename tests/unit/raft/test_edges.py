"""What comes from outside and is wrong gets a code; what grows has an end; who asks is answered."""

import random

import pytest

from barnabas.core.raft import (
    Endpoint,
    LogView,
    OffsetAndEpoch,
    PersistentState,
    QuorumBroken,
    RaftConfig,
    RaftNode,
    Voter,
    VoterSet,
)
from barnabas.core.raft import config as bounds
from barnabas.core.raft.effects import Effects
from barnabas.core.raft.events import (
    Event,
    LogFlushed,
    Propose,
    RequestReceived,
    ResponseReceived,
    SnapshotTaken,
    Tick,
)
from barnabas.core.raft.log import Diverging, LogState, NeedsSnapshot, Valid
from barnabas.core.raft.messages import (
    BatchSummary,
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    VoteRequest,
)
from barnabas.core.raft.roles import Follower, Leader
from barnabas.model.errors import ErrorCode

PLACE = Endpoint("CONTROLLER", "host", 9093)


def disk(number: int) -> bytes:
    return bytes(15) + bytes([number])


def voters(*ids: int) -> VoterSet:
    return VoterSet.of(Voter(number, disk(number), (PLACE,)) for number in ids)


class One:
    """A single node, its clock at `now`; everything it appends is flushed at once."""

    def __init__(self, *ids: int, state: PersistentState | None = None, log: LogView | None = None) -> None:
        self.now = 0
        config = RaftConfig(1, disk(1), "cluster", (PLACE,))
        view = log or LogView(voters=((-1, voters(*ids)),))
        self.node = RaftNode(config, state or PersistentState(), view, random.Random(1), 0)
        self.step(Tick())

    def step(self, event: Event) -> Effects:
        effects = self.node.step(event, self.now)
        if effects.flush is not None:
            self.node.step(LogFlushed(*effects.flush), self.now)
        return effects

    def ask(self, message: object) -> ErrorCode:
        effects = self.step(RequestReceived(message, "token"))  # type: ignore[arg-type]
        assert [reply.token for reply in effects.replies] == ["token"]
        return effects.replies[0].message.error_code


def fetch(**fields: object) -> FetchRequest:
    base: dict[str, object] = {
        "cluster_id": "cluster",
        "replica_id": 9,
        "replica_directory_id": disk(9),
        "current_leader_epoch": 1,
        "fetch_offset": 0,
        "last_fetched_epoch": 0,
    }
    return FetchRequest(**(base | fields))  # type: ignore[arg-type]


def vote(**fields: object) -> VoteRequest:
    base: dict[str, object] = {
        "cluster_id": "cluster",
        "voter_id": 1,
        "voter_directory_id": disk(1),
        "replica_epoch": 5,
        "replica_id": 2,
        "replica_directory_id": disk(2),
        "last_offset_epoch": 4,
        "last_offset": 100,
        "pre_vote": False,
    }
    return VoteRequest(**(base | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (fetch(cluster_id="other"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (fetch(current_leader_epoch=0), ErrorCode.FENCED_LEADER_EPOCH),
        (fetch(current_leader_epoch=2), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (fetch(fetch_offset=-1), ErrorCode.INVALID_REQUEST),
        (fetch(last_fetched_epoch=-1), ErrorCode.INVALID_REQUEST),
        (vote(cluster_id="other"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (vote(voter_directory_id=disk(7)), ErrorCode.INVALID_VOTER_KEY),
        (vote(voter_id=2), ErrorCode.INVALID_VOTER_KEY),
        (vote(last_offset=-1), ErrorCode.INVALID_REQUEST),
        (vote(last_offset_epoch=5), ErrorCode.INVALID_REQUEST),
        (vote(replica_epoch=0, last_offset_epoch=-1), ErrorCode.INVALID_REQUEST),
        (
            BeginQuorumEpochRequest(
                cluster_id="cluster",
                voter_id=1,
                voter_directory_id=disk(1),
                leader_id=1,
                leader_epoch=9,
                leader_endpoints=(PLACE,),
            ),
            ErrorCode.INVALID_REQUEST,
        ),
        (
            FetchSnapshotRequest(
                cluster_id="cluster",
                replica_id=9,
                replica_directory_id=disk(9),
                current_leader_epoch=1,
                snapshot_id=OffsetAndEpoch(1, 1),
                position=-1,
                max_bytes=10,
            ),
            ErrorCode.POSITION_OUT_OF_RANGE,
        ),
    ],
)
def test_a_wrong_request_gets_its_code_and_changes_nothing(request_: object, code: ErrorCode) -> None:
    one = One(1)
    assert isinstance(one.node.role, Leader)
    assert one.ask(request_) == code
    assert isinstance(one.node.role, Leader)
    assert one.node.epoch == 1


def test_a_fetch_waits_for_news_and_not_longer_than_it_asked() -> None:
    one = One(1)
    waiting = fetch(fetch_offset=3, last_fetched_epoch=1, high_watermark=3, max_wait_ms=100)
    assert not one.step(RequestReceived(waiting, "a")).reads
    assert one.node.next_deadline_ms() == 100
    one.now = 100
    assert [read.token for read in one.step(Tick()).reads] == ["a"]
    one.step(RequestReceived(waiting, "b"))
    (read,) = one.step(Propose(("x",), "p")).reads
    assert (read.token, read.fetch_offset, read.end_offset) == ("b", 3, 4)  # type: ignore[union-attr]
    # A second fetch of the same replica lets the first one go.
    behind = fetch(fetch_offset=4, last_fetched_epoch=1, high_watermark=4, max_wait_ms=100)
    one.step(RequestReceived(behind, "c"))
    assert [read.token for read in one.step(RequestReceived(behind, "d")).reads] == ["c"]


def test_a_proposal_is_for_the_epoch_it_was_made_in() -> None:
    one = One(1)
    assert one.step(Propose(("x",), "p", epoch=0)).done[0].error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert one.step(Propose((), "p")).done[0].error == ErrorCode.INVALID_REQUEST
    assert not one.step(Propose(("x",), "p", epoch=1)).done


def test_proposals_and_observers_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.core.raft.leader.serving.OBSERVERS_MAX", 3)
    monkeypatch.setattr("barnabas.core.raft.leader.serving.PARKED_FETCHES_MAX", 3)
    monkeypatch.setattr("barnabas.core.raft.leader.leading.PROPOSALS_MAX", 3)
    one = One(1)
    for number in range(10, 20):
        one.step(
            RequestReceived(fetch(replica_id=number, fetch_offset=3, last_fetched_epoch=1, max_wait_ms=500), number)
        )
    role = one.node.role
    assert isinstance(role, Leader)
    assert len(role.replicas) == 3
    assert len(role.parked) == 3
    assert bounds.OBSERVERS_MAX > 3
    done = [done for number in range(5) for done in one.node.step(Propose(("x",), number), 0).done]
    assert [item.error for item in done] == [ErrorCode.THROTTLING_QUOTA_EXCEEDED] * 2


def follower(log: LogView) -> tuple[One, FetchRequest]:
    one = One(state=PersistentState(3, None, 2), log=log)
    assert isinstance(one.node.role, Follower)
    one.now += 5000
    request = BeginQuorumEpochRequest(
        cluster_id="cluster",
        voter_id=1,
        voter_directory_id=disk(1),
        leader_id=2,
        leader_epoch=4,
        leader_endpoints=(PLACE,),
    )
    (sent,) = one.step(RequestReceived(request, 1)).send
    assert isinstance(sent.message, FetchRequest)
    return one, sent.message


VIEW = LogView(end_offset=10, epochs=((1, 0), (3, 6)), high_watermark=8, voters=((-1, voters(1, 2)),))


def test_only_batches_that_continue_the_log_are_taken() -> None:
    wrong = [
        BatchSummary(11, 12, 4),  # a gap
        BatchSummary(10, 9, 4),  # ends before it begins
        BatchSummary(10, 12, 2),  # an epoch that falls
        BatchSummary(10, 12, 5),  # an epoch after the leader's
    ]
    for batch in wrong:
        one, request = follower(VIEW)
        response = FetchResponse(leader_id=2, leader_epoch=4, high_watermark=10, batches=(batch,), records=b"")
        effects = one.step(ResponseReceived(2, request, response))
        assert not effects.log
        assert effects.committed == 10
    one, request = follower(VIEW)
    good = (BatchSummary(10, 11, 3), BatchSummary(12, 12, 4), BatchSummary(14, 14, 4))
    response = FetchResponse(leader_id=2, leader_epoch=4, high_watermark=99, batches=good, records=b"")
    effects = one.step(ResponseReceived(2, request, response))
    assert effects.log[0].batches == good[:2]  # type: ignore[union-attr]
    assert effects.committed == 13


def test_an_answer_to_another_request_is_not_listened_to() -> None:
    one, request = follower(VIEW)
    response = FetchResponse(leader_id=2, leader_epoch=4, high_watermark=10)
    twin = FetchRequest(**{name: getattr(request, name) for name in request.__struct_fields__})
    assert twin == request
    assert one.step(ResponseReceived(2, twin, response)).committed is None
    assert one.step(ResponseReceived(2, request, response)).committed == 10
    assert one.step(ResponseReceived(2, request, response)).committed is None


def test_what_was_committed_is_never_cut_away() -> None:
    one, request = follower(VIEW)
    response = FetchResponse(leader_id=2, leader_epoch=4, diverging_epoch=OffsetAndEpoch(7, 3))
    with pytest.raises(QuorumBroken):
        one.step(ResponseReceived(2, request, response))
    one, request = follower(VIEW)
    with pytest.raises(QuorumBroken):
        one.step(SnapshotTaken(OffsetAndEpoch(9, 3), trimmed=False))


def test_two_leaders_in_one_epoch_stop_the_node() -> None:
    one, request = follower(VIEW)
    response = FetchResponse(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, leader_id=7, leader_epoch=4)
    other = FetchResponse(**{**_fields(response), "leader_endpoint": PLACE})  # type: ignore[arg-type]
    with pytest.raises(QuorumBroken):
        one.step(ResponseReceived(2, request, other))


def _fields(response: FetchResponse) -> dict[str, object]:
    return {name: getattr(response, name) for name in response.__struct_fields__}


def test_a_log_is_compared_by_epoch_and_offset() -> None:
    log = LogState(VIEW)
    assert log.compare(10, 3) == Valid()
    assert log.compare(6, 1) == Valid()
    assert log.compare(7, 1) == Diverging(OffsetAndEpoch(6, 1))
    assert log.compare(7, 2) == Diverging(OffsetAndEpoch(6, 1))
    assert log.compare(11, 3) == Diverging(OffsetAndEpoch(10, 3))
    assert log.compare(0, 0) == Valid()
    log.snapshot = OffsetAndEpoch(7, 3)
    log.trim(log.snapshot)
    assert log.epochs == [(3, 7)]
    assert log.compare(6, 1) == NeedsSnapshot(OffsetAndEpoch(7, 3))
    assert log.compare(7, 3) == Valid()
    assert log.compare(9, 3) == Valid()
    with pytest.raises(ValueError, match="ascend"):
        LogState(LogView(end_offset=10, epochs=((3, 0), (1, 6))))


def test_a_flush_from_before_a_truncation_says_nothing_about_what_was_written_since() -> None:
    log = LogState(VIEW)
    log.append(11, 3, None)
    log.truncate(10)
    log.append(11, 4, None)
    assert not log.flushed(12, 0)
    assert log.flushed_end == OffsetAndEpoch(10, 3)
    assert log.flushed(12, 1)
    assert log.flushed_end == OffsetAndEpoch(12, 4)
    log.truncate(7)
    assert log.flushed_end == OffsetAndEpoch(7, 3)
    assert log.epochs == [(1, 0), (3, 6)]


def test_a_step_is_quick() -> None:
    """A few tens of microseconds; the bound is loose, for a machine that is busy."""
    import time

    one = One(1)
    request = fetch(fetch_offset=3, last_fetched_epoch=1, high_watermark=3, max_wait_ms=0)
    events = [RequestReceived(request, number) for number in range(2000)]
    best = 1.0
    for _ in range(5):
        begun = time.process_time()
        for event in events:
            one.node.step(event, 0)
        best = min(best, (time.process_time() - begun) / len(events))
    assert best < 0.000_2


def test_an_idle_leader_is_not_shown_as_stale() -> None:
    """DescribeQuorum long after the last event: the leader has always fetched just now, as in Kafka."""
    one = One(1)
    (leader,) = one.node.view(90_000).current_voters
    assert (leader.last_fetch_timestamp, leader.last_caught_up_timestamp) == (90_000, 90_000)

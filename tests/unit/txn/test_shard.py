"""Stories that need more than the scenario language can say: limits, odd reports, odd logs, odd drivers."""

from dataclasses import replace
from typing import Any

import pytest

from barnabas.core.txn import RequestInfo, TxnConfig, TxnShard, TxnState, refusal, shard_state
from barnabas.core.txn.records import encode_key, encode_value
from barnabas.core.txn.transaction import EPOCH_MAX
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.model.limits import TRANSACTION_PATTERN_MAX_CHARS, TRANSACTIONAL_ID_MAX_BYTES
from barnabas.wire import codec
from tests.unit.txn.script import Script
from tests.unit.txn.stage import START_MS, Stage

TOKEN: Any = object()

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def say(stage: Stage) -> Any:
    script = Script(stage)
    return lambda line: script.ask(line)[0]


def test_a_report_about_the_last_transaction_does_not_count_for_this_one(stage: Stage, say: Any) -> None:
    """With the old generation both carry the same producer id and epoch; a partition would be left without marker."""
    say("init a")
    say("add a P1/0 t-0 v=3")
    say("end a P1/0 commit v=3")
    first = stage.markers[0]
    stage.write_markers()
    say("add a P1/0 t-0 v=3")
    say("end a P1/0 abort v=3")
    second = stage.markers[0]
    assert (first.producer_id, first.producer_epoch) == (second.producer_id, second.producer_epoch)
    assert not stage.shard.markers_written(first, first.partitions, stage.now_ms).records
    assert stage.shard.transactions["a"].state is TxnState.PREPARE_ABORT
    assert stage.shard.markers_written(second, second.partitions, stage.now_ms).records


def test_a_report_may_come_twice_or_about_nothing(stage: Stage, say: Any) -> None:
    say("init a")
    say("add a P1/0 t-0 t-1")
    say("end a P1/0 commit")
    sent = stage.markers[0]
    stage.take(stage.shard.markers_written(sent, [T0], stage.now_ms))
    stage.take(stage.shard.markers_written(sent, [T0], stage.now_ms))
    assert say("describe a").startswith("PrepareCommit")
    stage.take(stage.shard.markers_written(sent, [T1], stage.now_ms))
    assert say("describe a").startswith("CompleteCommit")
    late = [stage.shard.markers_written(sent, [T0], stage.now_ms), stage.shard.markers_failed(sent, [T0], stage.now_ms)]
    assert not any(effects.records or effects.markers for effects in late)
    assert stage.shard.next_deadline_ms() == START_MS + stage.config.transactional_id_expiration_ms


def test_failed_markers_are_collected_and_sent_again_once(stage: Stage, say: Any) -> None:
    say("init a")
    say("add a P1/0 t-0 t-1")
    say("end a P1/0 commit")
    sent = stage.markers.pop()
    for partition in (T0, T1):
        stage.take(stage.shard.markers_failed(sent, [partition], stage.now_ms))
    # one of them had arrived after all
    stage.take(stage.shard.markers_written(sent, [T0], stage.now_ms))
    stage.advance(stage.config.marker_retry_backoff_ms)
    assert [again.partitions for again in stage.markers] == [frozenset({T1})]
    stage.write_markers()
    assert say("describe a").startswith("CompleteCommit")


def test_one_request_may_add_for_several_transactions(stage: Stage, say: Any) -> None:
    say("init a")
    say("init b")
    topics = [{"name": "t", "partitions": [0]}]
    items = [
        {"transactional_id": "a", "producer_id": 1000, "producer_epoch": 0, "verify_only": False, "topics": topics},
        {"transactional_id": "b", "producer_id": 1001, "producer_epoch": 9, "verify_only": False, "topics": topics},
        {"transactional_id": "", "producer_id": 1001, "producer_epoch": 9, "verify_only": False, "topics": topics},
    ]
    answer = stage.ask(24, 5, {"transactions": items})
    codes = [
        item.topic_results[0].results_by_partition[0].partition_error_code for item in answer.results_by_transaction
    ]
    assert codes == [0, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_REQUEST]


def test_a_transactional_id_longer_than_its_key_can_hold_is_refused(say: Any) -> None:
    assert say("init " + "x" * TRANSACTIONAL_ID_MAX_BYTES) == "P1/0"
    assert say("init " + "x" * (TRANSACTIONAL_ID_MAX_BYTES + 1)) == "INVALID_REQUEST"


def test_a_transaction_that_outgrows_its_record_is_refused_and_can_still_end(
    stage: Stage, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("init a")
    assert say("add a P1/0 t-0") == "ok"
    as_it_is = len(stage.log[-1][1] or b"")
    monkeypatch.setattr(shard_state, "TRANSACTION_STATE_MAX_BYTES", as_it_is + 4)
    assert say("add a P1/0 t-1 t-2") == "UNKNOWN_SERVER_ERROR"
    assert say("add a P1/0 t-1") == "ok"
    assert stage.shard.transactions["a"].partitions == {T0, T1}
    monkeypatch.setattr(shard_state, "TRANSACTION_STATE_MAX_BYTES", as_it_is)
    assert say("end a P1/0 commit") == "ok P1/1"


def test_a_pattern_that_is_too_long_is_refused(say: Any) -> None:
    assert say("list pattern=" + "x" * (TRANSACTION_PATTERN_MAX_CHARS + 1)) == "INVALID_REGULAR_EXPRESSION"


def test_half_a_producer_name_is_refused(stage: Stage) -> None:
    for half in ({"producer_id": 5}, {"producer_epoch": 5}):
        answer = stage.ask(22, 5, {"transactional_id": "a", "transaction_timeout_ms": 9, **half})
        assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_where_a_group_keeps_its_offsets_may_not_be_known_yet() -> None:
    def unknown(group_id: str) -> int:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    stage = Stage()
    stage.shard = TxnShard(stage.config, 1, lambda: 7, unknown)
    script = Script(stage)
    script.ask("init a")
    assert script.ask("offsets a P1/0 g") == ["COORDINATOR_NOT_AVAILABLE"]
    assert stage.shard.transactions["a"].state is TxnState.EMPTY


def test_records_that_make_no_sense_are_skipped_with_a_reason(stage: Stage, say: Any) -> None:
    say("init a")
    known = dict(stage.shard.transactions)
    value = encode_value(known["a"], 1)
    assert stage.shard.replay(b"\0\1\0\1b", value) == "transaction key of unknown version 1"
    assert stage.shard.replay(encode_key("b"), b"\0\2" + value[2:]) == "transaction value of unknown version 2"
    assert "wanted" in (stage.shard.replay(encode_key("b"), value[:-1]) or "")
    assert dict(stage.shard.transactions) == known
    # a tombstone whose record compaction has removed
    assert stage.shard.replay(encode_key("gone"), None) is None


def test_a_fence_at_the_very_last_epoch_does_not_overflow(stage: Stage, say: Any) -> None:
    stage.config = replace(stage.config, transaction_version=1)
    stage.shard.update_config(stage.config)
    say("init a")
    stage.set_epoch("a", EPOCH_MAX - 1)
    say(f"add a P1/{EPOCH_MAX - 1} t-0 v=3")
    assert say("init a") == "CONCURRENT_TRANSACTIONS"
    assert stage.shard.transactions["a"].producer_epoch == EPOCH_MAX
    stage.write_markers()
    assert say("init a") == "P2/0"


def test_a_setting_that_grows_gives_ids_more_time(stage: Stage, say: Any) -> None:
    say("init a")
    stage.shard.update_config(replace(stage.config, transactional_id_expiration_ms=10 * 24 * 3_600_000))
    stage.advance(9 * 24 * 3_600_000)
    assert "a" in stage.shard.transactions
    stage.advance(24 * 3_600_000)
    assert "a" not in stage.shard.transactions


def test_a_clock_that_is_set_back_does_not_turn_time_back(stage: Stage, say: Any) -> None:
    say("init a")
    stage.now_ms -= 600_000
    say("add a P1/0 t-0")
    assert stage.shard.transactions["a"].start_ms == START_MS


@pytest.mark.parametrize(
    ("api_key", "version", "body"),
    [
        (22, 5, {"transactional_id": "a", "transaction_timeout_ms": 1}),
        (24, 3, {"v3_and_below_transactional_id": "a", "v3_and_below_topics": [{"name": "t", "partitions": [0, 1]}]}),
        (24, 5, {"transactions": [{"transactional_id": "a", "topics": [{"name": "t", "partitions": [0]}]}]}),
        (25, 4, {"transactional_id": "a", "group_id": "g"}),
        (26, 5, {"transactional_id": "a"}),
        (65, 0, {"transactional_ids": ["a", "b"]}),
        (66, 2, {"state_filters": [], "producer_id_filters": []}),
    ],
)
def test_every_request_can_be_refused_in_its_own_shape(api_key: int, version: int, body: dict[str, Any]) -> None:
    codec.STRICT = True
    request = codec.decode_request(api_key, version, codec.encode_request(api_key, version, body))
    answer = refusal(api_key, request, version, ErrorCode.NOT_COORDINATOR)
    assert str(int(ErrorCode.NOT_COORDINATOR)) in str(answer)
    codec.decode_response(api_key, version, codec.encode_response(api_key, version, answer))


def test_nobody_waits_inside_a_shard(stage: Stage, say: Any) -> None:
    say("init a")
    assert stage.shard.abort_waiting(ErrorCode.NOT_COORDINATOR).replies == []


def test_every_answer_waits_for_the_commit(stage: Stage) -> None:
    request = codec.decode_request(
        22, 5, codec.encode_request(22, 5, {"transactional_id": "", "transaction_timeout_ms": 1})
    )
    effects = stage.shard.handle(request, RequestInfo(22, 5, "", ""), START_MS, TOKEN)
    assert [reply.after_commit for reply in effects.replies] == [True]


def test_the_timers_of_an_idle_shard_are_silent() -> None:
    shard = TxnShard(TxnConfig(), 1, lambda: 1, lambda group_id: 0)
    assert shard.next_deadline_ms() is None
    assert not shard.tick(10**15).records

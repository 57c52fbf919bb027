"""The life of a transaction over a librdkafka that says yes, "again", "abort", "fatal" or nothing, as told."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from barnabas.client.errors import BadSetting, BarnabasError, Closed, Fenced, TimedOut, TransactionAborted
from barnabas.client.producer.settings import producer_settings
from barnabas.client.transactions.librdkafka import Transactions
from barnabas.client.transactions.transaction import Transaction
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition

AGAIN = KafkaError(KafkaError._TIMED_OUT, "again", False, True)
MUST_ABORT = KafkaError(KafkaError.TRANSACTION_ABORTABLE, "abort", False, False, True)
FENCED = KafkaError(KafkaError._FENCED, "fenced", True)
BROKEN = KafkaError(KafkaError.INVALID_TXN_STATE, "broken", True)


class FakeLibrdkafka:
    """Answers each call by what `answers` holds for it, then by yes; remembers the calls."""

    fatal = None

    def __init__(self, **answers: list[KafkaError | None]) -> None:
        self.answers = answers
        self.calls: list[str] = []

    def _answer(self, name: str) -> None:
        self.calls.append(name)
        queue = self.answers.get(name)
        error = queue.pop(0) if queue else None
        if error is not None:
            raise KafkaException(error)

    def init_transactions(self, timeout: float) -> None:
        self._answer("init")

    def begin_transaction(self) -> None:
        self._answer("begin")

    def send_offsets_to_transaction(self, places: Any, metadata: Any, timeout: float) -> None:
        self._answer("offsets")

    def commit_transaction(self, timeout: float) -> None:
        self._answer("commit")

    def abort_transaction(self, timeout: float) -> None:
        self._answer("abort")

    def purge(self) -> None:
        self.calls.append("purge")

    def flush(self, timeout: float) -> int:
        return 0


class FakeProducer:
    def __init__(self, failure: BarnabasError | None = None) -> None:
        self.open = False
        self.failure = failure
        self.unseen = self
        self.forgotten = 0

    def admit(self, records: bool) -> None:
        self.open = records

    def flush(self) -> None:
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure

    def forget(self) -> None:
        self.forgotten += 1


def made(patience_s: float = 5.0, failure: BarnabasError | None = None, **answers: list[KafkaError | None]) -> Any:
    handle, producer = FakeLibrdkafka(**answers), FakeProducer(failure)
    transactions = Transactions(handle, "x", patience_s, "host:1")  # type: ignore[arg-type]
    return handle, producer, transactions, lambda: Transaction(producer, transactions, None)  # type: ignore[arg-type]


def test_the_id_is_claimed_once() -> None:
    handle, producer, transactions, block = made()
    for _ in range(2):
        with block():
            assert producer.open
        assert not producer.open and transactions.state == "ready"
    assert handle.calls == ["init", "begin", "commit", "begin", "commit"]


def test_an_exception_aborts_and_goes_on_its_way() -> None:
    handle, producer, transactions, block = made()
    with pytest.raises(KeyError), block():
        raise KeyError
    assert handle.calls == ["init", "begin", "abort"] and not producer.open
    assert transactions.state == "ready" and producer.forgotten == 1


def test_retriable_errors_are_asked_again() -> None:
    handle, _, _, block = made(init=[AGAIN, AGAIN], commit=[AGAIN, None])
    with block():
        pass
    assert handle.calls == ["init"] * 3 + ["begin", "commit", "commit"]


def test_a_commit_that_must_abort_is_aborted_and_told() -> None:
    handle, producer, transactions, block = made(commit=[MUST_ABORT])
    with pytest.raises(TransactionAborted, match="aborted") as told, block():
        pass
    assert told.value.code is ErrorCode.TRANSACTION_ABORTABLE
    assert handle.calls[-2:] == ["commit", "abort"] and transactions.state == "ready" and not producer.open


def test_a_record_that_failed_aborts_without_asking_for_a_commit() -> None:
    handle, _, _, block = made(failure=BarnabasError("lost", ErrorCode.MESSAGE_TOO_LARGE))
    with pytest.raises(TransactionAborted, match="lost") as told, block():
        pass
    assert told.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert handle.calls == ["init", "begin", "abort"]


def test_an_abort_that_must_be_aborted_is_asked_again() -> None:
    handle, _, transactions, block = made(abort=[MUST_ABORT, AGAIN])
    with pytest.raises(KeyError), block():
        raise KeyError
    assert handle.calls.count("abort") == 3 and transactions.state == "ready"


def test_fenced_is_for_ever() -> None:
    handle, producer, transactions, block = made(commit=[FENCED])
    with pytest.raises(Fenced, match="newer producer"), block():
        pass
    assert transactions.state == "dead" and "purge" in handle.calls and producer.forgotten
    calls = list(handle.calls)
    with pytest.raises(Fenced), block():
        pass
    assert handle.calls == calls and not producer.open


def test_another_fatal_error_says_that_it_is_the_end() -> None:
    _, _, _, block = made(commit=[BROKEN])
    with pytest.raises(BarnabasError, match="cannot go on") as told, block():
        pass
    assert not isinstance(told.value, Fenced)


def test_being_fenced_while_aborting_hides_no_error_of_the_block() -> None:
    _, _, transactions, block = made(abort=[FENCED])
    with pytest.raises(KeyError), block():
        raise KeyError
    assert transactions.state == "dead"


def test_a_commit_without_an_answer_is_finished_by_the_next() -> None:
    handle, _, transactions, block = made(0.0, commit=[AGAIN, None, None])
    with pytest.raises(TimedOut, match="commit"), block():
        pass
    assert transactions.state == "committing" and transactions.is_unfinished
    with block():
        assert handle.calls == ["init", "begin", "commit", "commit", "begin"]
    assert not transactions.is_unfinished


def test_an_abort_without_an_answer_is_finished_by_the_next() -> None:
    handle, _, transactions, block = made(0.0, abort=[AGAIN, None])
    with pytest.raises(KeyError), block():
        raise KeyError
    assert transactions.state == "aborting"
    with block():
        assert handle.calls == ["init", "begin", "abort", "abort", "begin"]


def test_no_transaction_inside_another() -> None:
    handle, producer, _, block = made()
    with block():
        with pytest.raises(BarnabasError, match="one is open already"), block():
            pass
        assert producer.open, "the outer one goes on"
    assert handle.calls == ["init", "begin", "commit"]


def test_abort_by_hand() -> None:
    handle, producer, _, block = made()
    with block() as transaction:
        transaction.abort()
        assert transaction.is_over and not producer.open
        transaction.abort()
        with pytest.raises(BarnabasError, match="over"):
            transaction.send_offsets(None)
    assert handle.calls == ["init", "begin", "abort"]
    with pytest.raises(BarnabasError, match="over"):
        transaction.begin()


@pytest.mark.parametrize(("state", "call"), [("open", "abort"), ("aborting", "abort"), ("committing", "commit")])
def test_closing_leaves_nothing_open(state: Any, call: str) -> None:
    handle, _, transactions, block = made()
    transactions.state = state
    transactions.close(1.0)
    assert handle.calls == [call]
    with pytest.raises(Closed), block():
        pass


def test_offsets_are_asked_for_once_with_all_the_time() -> None:
    handle, _, transactions, block = made(offsets=[AGAIN])
    with pytest.raises(TimedOut, match="record offsets"), block():
        transactions.send_offsets({TopicPartition("t", 0): 1}, object())
    assert handle.calls == ["init", "begin", "offsets", "abort"]
    with block():
        transactions.send_offsets({}, object())
    assert handle.calls.count("offsets") == 1, "nothing to say, nothing asked"


def test_why_a_record_is_refused() -> None:
    _, _, transactions, block = made(begin=[None, FENCED])
    assert transactions.refusal(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), "send") is None
    with pytest.raises(Fenced), block():
        assert isinstance(transactions.refusal(KafkaError(KafkaError._STATE), "send"), TransactionAborted)
        assert isinstance(transactions.refusal(KafkaError(KafkaError._FATAL), "send"), Fenced)


def options(**changed: Any) -> dict[str, Any]:
    given = {
        "bootstrap": "h:1", "acks": "all", "linger_ms": 5, "batch_bytes": 1, "compression": None, "idempotent": None,
        "delivery_timeout": 120.0, "transactional_id": "x", "transaction_timeout": 60.0, "config": None, "extra": {},
    }  # fmt: skip
    return producer_settings(**{**given, **changed})


def test_records_are_given_up_before_their_transaction() -> None:
    assert options()["message.timeout.ms"] == 60_000
    assert options(delivery_timeout=5.0)["message.timeout.ms"] == 5_000
    assert options(transaction_timeout=600.0)["message.timeout.ms"] == 120_000
    assert "transactional.id" not in options(transactional_id=None)


@pytest.mark.parametrize(
    "changed", [{"acks": 1}, {"idempotent": False}, {"transactional_id": ""}, {"transaction_timeout": 0}, {"acks": 7}]
)
def test_options_that_make_no_sense(changed: dict[str, Any]) -> None:
    with pytest.raises(BadSetting):
        options(**changed)

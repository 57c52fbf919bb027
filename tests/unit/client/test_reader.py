"""What each commit mode promises, seen from what a cluster would know after a crash at any moment."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from barnabas.client.common.connection import logger
from barnabas.client.common.rdkafka import ConsumerHandle
from barnabas.client.consumer.message import MessageMaker
from barnabas.client.consumer.reader import KEEP_ALIVE_S, Reader
from barnabas.client.errors import Closed, NotAllowed, UnknownTopic
from barnabas.model.ids import TopicPartition
from tests.unit.client.fakes import FakeHandle, FakeMembership, FakeMessage

A = TopicPartition("t", 0)


def reader(handle: FakeHandle, mode: Any, batch: int = 500) -> Reader:
    made = Reader(cast(ConsumerHandle, handle), "host:1", MessageMaker(None, None, "raise"), mode, batch, "committed")
    made.attach(FakeMembership(A))
    return made


def take(made: Reader) -> int | None:
    message = made.take()
    return None if message is None else message.offset


def test_auto_stores_what_is_finished_and_nothing_else() -> None:
    handle = FakeHandle(*(FakeMessage(offset) for offset in range(3)))
    made = reader(handle, "auto", batch=2)
    assert made.fetch(0) == 2
    assert take(made) == 0
    assert handle.stored == {}
    assert take(made) == 1
    made.close()
    assert handle.stored == {A: 1}, "record 1 was in hand when the reader closed"


def test_auto_counts_the_last_record_when_the_loop_came_back() -> None:
    handle = FakeHandle(FakeMessage(0))
    made = reader(handle, "auto")
    made.fetch(0)
    take(made)
    assert take(made) is None
    made.close()
    assert handle.stored == {A: 1}


def test_auto_stores_before_a_partition_leaves() -> None:
    handle = FakeHandle(FakeMessage(0), FakeMessage(1), FakeMessage(2))
    made = reader(handle, "auto")
    made.fetch(0)
    take(made)
    take(made)
    made.leaving([A])
    assert handle.stored == {A: 1}
    made.gone([A])
    assert take(made) is None, "what was buffered of it is somebody else's now"


def test_manual_commits_when_told() -> None:
    handle = FakeHandle(FakeMessage(0), FakeMessage(1), FakeMessage(2))
    made = reader(handle, "manual")
    made.fetch(0)
    message = made.take()
    take(made)
    assert handle.commits == []
    made.commit(message, wait=True)
    made.commit(None, wait=True)
    made.commit(None, wait=True)
    assert handle.commits == [{A: 1}, {A: 2}], "nothing new, nothing sent"
    made.close()
    assert handle.stored == {}


def test_before_commits_and_only_then_hands_out() -> None:
    handle = FakeHandle(FakeMessage(0), FakeMessage(1))
    made = reader(handle, "before", batch=1)
    assert made.fetch(0) == 1
    assert handle.commits == [{A: 1}]
    assert take(made) == 0


def test_before_does_not_hand_out_what_could_not_be_committed() -> None:
    handle = FakeHandle(FakeMessage(7))
    handle.commit_error = KafkaException(KafkaError(KafkaError.REBALANCE_IN_PROGRESS))
    made = reader(handle, "before", batch=1)
    assert made.fetch(0) == 0
    assert take(made) is None
    assert handle.seeks == [(A, 7)], "still ours: it is read again"


def test_without_a_group_nothing_is_recorded() -> None:
    handle = FakeHandle(FakeMessage(0))
    made = reader(handle, None)
    made.fetch(0)
    take(made)
    made.fetch(0)
    made.close()
    assert handle.stored == {} and handle.commits == []


def test_a_slow_loop_keeps_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = FakeHandle(*(FakeMessage(offset) for offset in range(3)))
    made = reader(handle, "auto", batch=2)
    made.fetch(0)
    take(made)
    now = time.monotonic()
    assert not made.is_overdue(now)
    assert made.is_overdue(now + KEEP_ALIVE_S * 2)
    made.keep_alive()
    assert handle.stored == {A: 1}
    assert handle.polls == 2
    assert [take(made), take(made)] == [1, 2], "what the poll brought comes after what was waiting"


def test_a_seek_forgets_what_was_fetched() -> None:
    handle = FakeHandle(*(FakeMessage(offset) for offset in range(5)))
    made = reader(handle, "manual")
    made.fetch(0)
    take(made)
    made.seek(2, None, None)
    assert handle.seeks == [(A, 2)]
    assert take(made) is None
    made.commit(None, wait=True)
    assert handle.commits == []


def test_errors_come_after_the_records_before_them() -> None:
    denied = FakeMessage(-1, error=KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    made = reader(FakeHandle(FakeMessage(0), denied), "auto")
    assert made.fetch(0) == 1
    assert take(made) == 0
    with pytest.raises(NotAllowed):
        made.fetch(0)


def test_trouble_that_is_retried_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    made = reader(FakeHandle(FakeMessage(-1, error=KafkaError(KafkaError._TRANSPORT, "connection lost"))), "auto")
    with caplog.at_level("WARNING", logger.name):
        assert made.fetch(0) == 0
    assert "connection lost" in caplog.text


def test_a_missing_topic_is_waited_for_and_then_told(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = FakeMessage(-1, topic="typo", error=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    made = reader(FakeHandle(missing, missing), "auto", batch=1)
    assert made.fetch(0) == 0
    assert made.fetch(0) == 0
    later = time.monotonic() + 60
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with pytest.raises(UnknownTopic, match="no topic 'typo'"):
        made.fetch(0)


def test_the_end_is_reached_when_all_partitions_are() -> None:
    end = FakeMessage(1, error=KafkaError(KafkaError._PARTITION_EOF))
    made = reader(FakeHandle(FakeMessage(0), end), None)
    assert not made.at_end()
    made.fetch(0)
    assert not made.at_end(), "a record is still waiting"
    take(made)
    assert made.at_end()


def test_a_closed_reader_says_so() -> None:
    handle = FakeHandle()
    made = reader(handle, "auto")
    made.close()
    made.close()
    assert handle.closed
    with pytest.raises(Closed):
        made.take()

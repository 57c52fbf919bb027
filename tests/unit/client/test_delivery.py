"""A handle is settled once, waits no longer than told, and a failure is raised where somebody looks."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError

from barnabas.client.errors import BarnabasError, DeliveryFailed, TimedOut
from barnabas.client.producer.delivery import Deliveries, Delivery, Postman, RecordMetadata, explain
from barnabas.model.errors import ErrorCode
from tests.unit.client.fakes import FakeMessage


class FakePostman(Postman):
    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.lost: list[Delivery | Deliveries] = []

    def wait(self, seconds: float) -> None:
        if self.answers:
            self.answers.pop(0)()

    def undelivered(self, failure: Delivery | Deliveries) -> None:
        self.lost.append(failure)

    def explain(self, topic: str, partition: int | None, error: KafkaError) -> BarnabasError:
        return explain(topic, partition, error, "connection refused")


TOO_LARGE = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)


def test_result_waits_for_the_answer() -> None:
    postman = FakePostman()
    delivery = Delivery(postman, "t", None)
    postman.answers = [lambda: None, lambda: delivery(None, FakeMessage(42, 3))]
    assert not delivery.done
    assert delivery.result() == RecordMetadata("t", 3, 42, 1_042)
    assert delivery.done
    assert "42" in repr(delivery)


def test_result_gives_up_in_time() -> None:
    with pytest.raises(TimedOut, match="still on its way"):
        Delivery(FakePostman(), "t", None).result(timeout=0)


def test_a_failure_is_raised_and_then_seen() -> None:
    postman = FakePostman()
    delivery = Delivery(postman, "t", None)
    delivery(TOO_LARGE, FakeMessage(-1, 2))
    assert postman.lost == [delivery] and delivery.unseen_failures() == 1
    with pytest.raises(DeliveryFailed, match="deliver to t-2") as caught:
        delivery.result()
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert delivery.unseen_failures() == 0


def test_a_callback_is_told_and_the_failure_counts_as_seen() -> None:
    told: list[Any] = []
    postman = FakePostman()
    Delivery(postman, "t", lambda error, record: told.append((error, record)))(None, FakeMessage(1))
    Delivery(postman, "t", lambda error, record: told.append((error, record)))(TOO_LARGE, FakeMessage(-1))
    assert told[0] == (None, RecordMetadata("t", 0, 1, 1_001))
    assert isinstance(told[1][0], DeliveryFailed) and told[1][1] is None
    assert postman.lost == []


def test_many_are_counted() -> None:
    postman = FakePostman()
    deliveries = Deliveries(postman, "t")
    deliveries.sent = 3
    for offset in range(2):
        deliveries(None, FakeMessage(offset))
    assert not deliveries.done
    deliveries(TOO_LARGE, FakeMessage(-1))
    assert deliveries.done and deliveries.unseen_failures() == 1
    with pytest.raises(DeliveryFailed) as caught:
        deliveries.result()
    assert caught.value.failures == 1 and deliveries.delivered == 2


def test_a_timeout_tells_the_trouble_behind_it() -> None:
    error = explain("t", -1, KafkaError(KafkaError._MSG_TIMED_OUT), "connection refused")
    assert str(error) == "deliver to t: no answer in time (connection refused)"
    silent = explain("t", 2, KafkaError(KafkaError._MSG_TIMED_OUT), "")
    assert str(silent) == "deliver to t-2: no answer in time. Has it a leader? See: barnabas topic describe t"

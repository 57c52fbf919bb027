"""librdkafka's errors become ours, each with one line; nothing else leaves the library."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from barnabas.client import errors
from barnabas.model.errors import ErrorCode


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, errors.UnknownTopic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (KafkaError._UNKNOWN_TOPIC, errors.UnknownTopic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (KafkaError._UNKNOWN_PARTITION, errors.UnknownTopic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (KafkaError.TOPIC_ALREADY_EXISTS, errors.TopicExists, ErrorCode.TOPIC_ALREADY_EXISTS),
        (KafkaError.GROUP_ID_NOT_FOUND, errors.UnknownGroup, ErrorCode.GROUP_ID_NOT_FOUND),
        (KafkaError.NON_EMPTY_GROUP, errors.GroupNotEmpty, ErrorCode.NON_EMPTY_GROUP),
        (KafkaError.INVALID_CONFIG, errors.BadSetting, ErrorCode.INVALID_CONFIG),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, errors.NotAllowed, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (KafkaError.POLICY_VIOLATION, errors.Refused, ErrorCode.POLICY_VIOLATION),
        (KafkaError.UNKNOWN, errors.Refused, ErrorCode.UNKNOWN_SERVER_ERROR),
        (KafkaError._TRANSPORT, errors.CannotReach, None),
        (KafkaError._RESOLVE, errors.CannotReach, None),
        (KafkaError._ALL_BROKERS_DOWN, errors.CannotReach, None),
        (KafkaError._SSL, errors.CannotReach, None),
        (KafkaError._AUTHENTICATION, errors.CannotReach, None),
        (KafkaError._TIMED_OUT, errors.TimedOut, None),
        (KafkaError._MSG_TIMED_OUT, errors.TimedOut, None),
        (KafkaError._TIMED_OUT_QUEUE, errors.TimedOut, None),
        (KafkaError._INVALID_ARG, errors.BadSetting, None),
        (KafkaError._FATAL, errors.BarnabasError, None),
    ],
)
def test_each_code_has_its_kind(number: int, kind: type[errors.BarnabasError], code: ErrorCode | None) -> None:
    error = errors.translate(KafkaException(KafkaError(number)), "do it", "host:9092")
    assert type(error) is kind
    assert error.code == code
    assert "do it" in str(error) and "\n" not in str(error)


def test_the_line_is_for_people() -> None:
    error = errors.translate(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)), "delete topic 'x'")
    assert str(error) == "delete topic 'x': unknown topic or partition"
    cannot = errors.CannotReach("host:1", "connection refused")
    assert str(cannot) == "cannot reach host:1: connection refused"


def test_ours_pass_through_and_others_are_wrapped() -> None:
    ours = errors.UnknownGroup("no")
    assert errors.translate(ours, "x") is ours
    assert str(errors.translate(OSError("disk"), "x")) == "x: disk"

"""Text becomes a value by Kafka's rules, and a value the text Kafka shows. The cases were tried on a real one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import (
    GROUP_SETTINGS,
    NODE_SETTINGS,
    TOPIC_SETTINGS,
    ConfigType,
    Setting,
    parse_value,
    value_text,
)

ALL = [*TOPIC_SETTINGS.values(), *NODE_SETTINGS.values(), *GROUP_SETTINGS.values()]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("retention.ms", " 5 ", 5),
        ("retention.ms", "+5", 5),
        ("retention.ms", "-1", -1),
        ("cleanup.policy", "compact, delete", ("compact", "delete")),
        ("cleanup.policy", "delete,delete", ("delete",)),
        ("cleanup.policy", "", ()),
        ("preallocate", "TRUE", True),
        ("min.cleanable.dirty.ratio", "0", 0.0),
        ("compression.gzip.level", "-1", -1),
        ("compression.type", "uncompressed", "uncompressed"),
        ("compression.type", "none", "none"),
        ("segment.bytes", "1048576", 1048576),
        ("retention.bytes", "-5", -5),
        ("leader.replication.throttled.replicas", "*", ("*",)),
        ("leader.replication.throttled.replicas", "1:1,2:2", ("1:1", "2:2")),
        ("internal.segment.bytes", "1000", 1000),
    ],
)
def test_a_topic_accepts(name: str, text: str, value: object) -> None:
    assert parse_value(TOPIC_SETTINGS[name], text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("retention.ms", "-2"),
        ("retention.ms", "abc"),
        ("retention.ms", ""),
        ("retention.ms", "0x10"),
        ("retention.ms", "1_000"),
        ("retention.ms", "٣"),
        ("retention.ms", str(2**63)),
        ("retention.ms", "9" * 10_000),
        ("cleanup.policy", "foo"),
        ("cleanup.policy", "none"),
        ("compression.type", "GZIP"),
        ("segment.bytes", "1048575"),
        ("segment.bytes", "2147483648"),
        ("min.insync.replicas", "0"),
        ("max.message.bytes", "-1"),
        ("min.cleanable.dirty.ratio", "1.1"),
        ("min.cleanable.dirty.ratio", "nan"),
        ("preallocate", "yes"),
        ("message.timestamp.type", "createtime"),
        ("flush.messages", "0"),
        ("compression.gzip.level", "0"),
        ("compression.zstd.level", "23"),
        ("segment.index.bytes", "3"),
        ("segment.ms", "0"),
        ("leader.replication.throttled.replicas", "x"),
        ("follower.replication.throttled.replicas", "none"),
    ],
)
def test_a_topic_refuses(name: str, text: str) -> None:
    with pytest.raises(KafkaError) as refused:
        parse_value(TOPIC_SETTINGS[name], text)
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    assert name in refused.value.message and len(refused.value.message) < 300


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (0.5, "0.5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (0.0, "0.0"),
        ((), ""),
        (None, None),
    ],
)
def test_values_are_written_as_kafka_writes_them(value: object, text: str | None) -> None:
    assert value_text(value) == text  # type: ignore[arg-type]


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.name)
def test_every_default_is_a_value_the_setting_takes(setting: Setting) -> None:
    text = value_text(setting.default)
    if text is not None:
        assert parse_value(setting, text) == setting.default


@given(st.sampled_from(ALL), st.text(max_size=40))
def test_any_text_is_a_value_or_a_clear_refusal(setting: Setting, text: str) -> None:
    try:
        value = parse_value(setting, text)
    except KafkaError as error:
        assert error.code is ErrorCode.INVALID_CONFIG and "\n" not in error.message.replace(repr(text), "")
    else:
        again = value_text(value)
        if value == value and again is not None:  # (a double may be nan)
            assert parse_value(setting, again) == value


def test_a_secret_is_not_repeated_in_a_complaint() -> None:
    secret = Setting("x.password", ConfigType.PASSWORD, None, "", TOPIC_SETTINGS["compression.type"].valid)
    with pytest.raises(KafkaError) as refused:
        parse_value(secret, "hunter2")
    assert "hunter2" not in refused.value.message

"""What sinks of bytes share, and that options of connectors do not show their secrets."""

from __future__ import annotations

import msgspec
import pytest

from barnabas.connect.connectors.http.sink import HttpSinkOptions
from barnabas.connect.connectors.http.source import HttpSourceOptions
from barnabas.connect.connectors.jms.sink import JmsSinkOptions
from barnabas.connect.connectors.jms.source import JmsSourceOptions
from barnabas.connect.connectors.kafka.sink import KafkaSinkOptions
from barnabas.connect.connectors.kafka.source import KafkaSourceOptions
from barnabas.connect.connectors.mqtt.sink import MqttSinkOptions
from barnabas.connect.connectors.mqtt.source import MqttSourceOptions
from barnabas.connect.connectors.payloads import Template, payload
from barnabas.connect.contract import Value
from barnabas.connect.definition.shown import shown
from barnabas.connect.errors import BadOption
from barnabas.connect.values.formats import BadValue
from tests.support.delivered import delivered

SECRET = "not-to-be-shown"


@pytest.mark.parametrize(
    ("value", "expected"), [(None, b""), (b"\xff", b"\xff"), ("ä", "ä".encode()), ({"a": [1]}, b'{"a":[1]}'), (1, b"1")]
)
def test_payloads(value: Value, expected: bytes) -> None:
    assert payload(value) == expected


def test_templates() -> None:
    record = delivered(7, None, b"a/b", partition=3, timestamp_ms=9)
    template = Template("option", "{topic}/{partition}/{offset}/{timestamp}/{key}")
    assert template.fill(record) == "orders/3/7/9/a/b"
    assert template.fill(record, lambda text: text.upper()) == "ORDERS/3/7/9/A/B"
    assert Template("option", "{key}").fill(delivered(0, None, 17)) == "17"
    assert Template("option", "plain").fill(delivered(0)) == "plain"


@pytest.mark.parametrize("key", [None, b"\xff", {"a": 1}, True])
def test_keys_that_are_no_name(key: Value) -> None:
    with pytest.raises(BadValue):
        Template("option", "{key}").fill(delivered(0, None, key))


@pytest.mark.parametrize("text", ["{keys}", "{}", "{key.__class__}", "{0}"])
def test_words_that_are_not_known(text: str) -> None:
    with pytest.raises(BadOption, match="is not known"):
        Template("option", text)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (HttpSinkOptions, {"url": "http://h", "token": SECRET, "headers": {"a": SECRET}, "password": SECRET}),
        (HttpSourceOptions, {"port": 1, "token": SECRET, "secret": SECRET}),
        (JmsSinkOptions, {"url": "stomp://h", "queue": "q", "password": SECRET}),
        (JmsSourceOptions, {"url": "stomp://h", "queues": ["q"], "password": SECRET}),
        (KafkaSinkOptions, {"bootstrap": "h:1", "settings": {"sasl.password": SECRET}}),
        (KafkaSourceOptions, {"bootstrap": "h:1", "topics": ["t"], "settings": {"sasl.password": SECRET}}),
        (KafkaSourceOptions, {"bootstrap": "h:1", "topics": ["t"], "settings": {"ssl.key.pem": SECRET}}),
        (MqttSinkOptions, {"url": "mqtt://h", "password": SECRET}),
        (MqttSourceOptions, {"url": "mqtt://h", "topics": ["t"], "password": SECRET}),
    ],
)
def test_secrets_are_not_shown(kind: type[msgspec.Struct], options: dict[str, Value]) -> None:
    assert SECRET not in repr(msgspec.convert(options, kind))
    assert SECRET not in str(shown(options))

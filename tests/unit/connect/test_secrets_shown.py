"""Options that are marked as secrets are hidden wherever a definition is shown, in every connector."""

from __future__ import annotations

from typing import get_type_hints

import msgspec
import pytest

from barnabas.connect.connectors.http.sink import HttpSinkOptions
from barnabas.connect.connectors.http.source import HttpSourceOptions
from barnabas.connect.connectors.jms.sink import JmsSinkOptions
from barnabas.connect.connectors.kafka.source import KafkaSourceOptions
from barnabas.connect.connectors.mqtt.source import MqttSourceOptions
from barnabas.connect.connectors.opensearch.options import OpensearchOptions
from barnabas.connect.connectors.postgres.capture.options import PostgresOptions
from barnabas.connect.connectors.postgres.sink import PostgresSinkOptions
from barnabas.connect.connectors.s3.store import StoreOptions
from barnabas.connect.connectors.sql.source import SqlSourceOptions
from barnabas.connect.definition.shown import shown

KINDS = [
    *(HttpSinkOptions, HttpSourceOptions, JmsSinkOptions, KafkaSourceOptions, MqttSourceOptions, OpensearchOptions),
    *(PostgresOptions, PostgresSinkOptions, StoreOptions, SqlSourceOptions),
]
VALUE = "sesame-42"


def marked(kind: type[msgspec.Struct]) -> set[str]:
    hints = get_type_hints(kind, include_extras=True)
    return {name for name, hint in hints.items() if "'secret': True" in repr(hint)}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
def test_what_is_marked_is_hidden(kind: type[msgspec.Struct]) -> None:
    names = marked(kind)
    assert names
    for name in names - {"url", "settings"}:
        assert VALUE not in str(shown({name: VALUE})), name
        assert VALUE not in str(shown({name: {"X-Anything": VALUE}})), name


def test_the_password_in_an_address_is_hidden_and_the_address_is_not() -> None:
    assert shown({"url": f"https://joe:{VALUE}@search.example.org"}) == {
        "url": "https://joe:[hidden]@search.example.org"
    }


@pytest.mark.parametrize("name", ["sasl.password", "sasl.jaas.config", "ssl.key.pem", "ssl.keystore.key", "X-Api-Key"])
def test_settings_of_clients_that_are_secrets(name: str) -> None:
    assert shown({"settings": {name: VALUE, "security.protocol": "SSL"}}) == {
        "settings": {name: "[hidden]", "security.protocol": "SSL"}
    }


def test_references_are_shown() -> None:
    options: dict[str, object] = {"password": "${env:SHOP_PASSWORD}", "headers": {"Authorization": "${env:SHOP_TOKEN}"}}
    assert shown(options) == options

"""kafkajs (tests/js/server.js)."""

from __future__ import annotations

import base64
from typing import Any

from tests.security.matrix.clients.contract import Client
from tests.security.matrix.ways import OAUTH, Credentials
from tests.support.js import KafkaJs


class JavaScript(Client):
    def __init__(self, js: KafkaJs) -> None:
        self._js = js

    def produce(self, to: Credentials, topic: str, text: str) -> None:
        self._js.job("produce", topic=topic, records=_records(text), **_settings(to))

    def transaction(self, to: Credentials, topic: str, text: str, name: str) -> None:
        self._js.job("transaction", topic=topic, id=name, records=_records(text), **_settings(to))

    def consume(self, to: Credentials, topic: str, group: str) -> str:
        found = self._js.job("consume", topic=topic, group=group, count=1, **_settings(to))
        return base64.b64decode(found[0]["value"]).decode()

    def admin(self, to: Credentials, topic: str) -> None:
        self._ask(to, "createTopics", {"topics": [{"topic": topic, "numPartitions": 1, "replicationFactor": 1}]})
        assert topic in self._ask(to, "listTopics")
        self._ask(to, "deleteTopics", {"topics": [topic]})

    def _ask(self, to: Credentials, method: str, *arguments: object) -> Any:  # an answer in JSON
        return self._js.job("admin", method=method, args=arguments, **_settings(to))

    def close(self) -> None:
        self._js.close()


def _records(text: str) -> list[dict[str, str | None]]:
    return [{"key": None, "value": base64.b64encode(text.encode()).decode()}]


def _settings(to: Credentials) -> dict[str, Any]:  # a job in JSON
    found: dict[str, Any] = {"bootstrap": to.bootstrap, "retries": 2}
    if to.ca is not None:
        found["ca"] = to.ca.read_text()
    if to.certificate is not None:
        found |= {"cert": to.certificate.certificate.read_text(), "key": to.certificate.key.read_text()}
    if to.mechanism == OAUTH:
        found["oauth"] = {"url": to.token_url, "id": to.user, "secret": to.password, "scope": to.scope}
    elif to.mechanism is not None:
        found["sasl"] = {"mechanism": to.mechanism.lower(), "username": to.user, "password": to.password}
    return found

"""kafka-python."""

from __future__ import annotations

from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.net.sasl.oauth import AbstractTokenProvider

from tests.security.matrix.clients.contract import Client, refusals_in_log
from tests.security.matrix.clients.tokens import fetch
from tests.security.matrix.ways import OAUTH, Credentials


class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    def __init__(self, to: Credentials) -> None:
        self._to = to

    def token(self) -> str:
        return fetch(self._to)


class KafkaPython(Client):
    def produce(self, to: Credentials, topic: str, text: str) -> None:
        with refusals_in_log("kafka"):
            producer = KafkaProducer(**_settings(to))
            try:
                producer.send(topic, text.encode()).get(30)
            finally:
                producer.close(5)

    def transaction(self, to: Credentials, topic: str, text: str, name: str) -> None:
        producer = KafkaProducer(transactional_id=name, **_settings(to))
        try:
            producer.init_transactions()
            producer.begin_transaction()
            producer.send(topic, text.encode()).get(30)
            producer.commit_transaction()
        finally:
            producer.close(5)

    def consume(self, to: Credentials, topic: str, group: str) -> str:
        consumer = KafkaConsumer(
            topic,
            group_id=group,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            consumer_timeout_ms=30_000,
            **_settings(to),
        )
        try:
            return str(next(iter(consumer)).value.decode())
        finally:
            consumer.close()

    def admin(self, to: Credentials, topic: str) -> None:
        with refusals_in_log("kafka"):
            admin = KafkaAdminClient(**_settings(to))
            try:
                admin.create_topics([NewTopic(topic, 1, 1)])
                assert topic in admin.list_topics()
                admin.delete_topics([topic])
            finally:
                admin.close()


def _settings(to: Credentials) -> dict[str, Any]:  # what is passed on as keywords of a client without types
    found: dict[str, Any] = {"bootstrap_servers": to.bootstrap, "security_protocol": to.protocol}
    found["bootstrap_timeout_ms"] = 3_000  # it goes on trying for so long when it is refused
    if to.ca is not None:
        found["ssl_cafile"] = str(to.ca)
    if to.certificate is not None:
        found |= {"ssl_certfile": str(to.certificate.certificate), "ssl_keyfile": str(to.certificate.key)}
    if to.mechanism == OAUTH:
        found |= {"sasl_mechanism": OAUTH, "sasl_oauth_token_provider": Tokens(to)}
    elif to.mechanism is not None:
        found |= {
            "sasl_mechanism": to.mechanism,
            "sasl_plain_username": to.user,
            "sasl_plain_password": to.password,
        }
    return found

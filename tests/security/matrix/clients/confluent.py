"""confluent-kafka: librdkafka."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.security.matrix.clients.contract import Client, Refused
from tests.security.matrix.ways import OAUTH, Credentials

SECONDS = 30


def settings_of(to: Credentials) -> dict[str, str]:
    """librdkafka's settings."""
    found = {"bootstrap.servers": to.bootstrap, "security.protocol": to.protocol}
    if to.ca is not None:
        found["ssl.ca.location"] = str(to.ca)
    if to.certificate is not None:
        found["ssl.certificate.location"] = str(to.certificate.certificate)
        found["ssl.key.location"] = str(to.certificate.key)
    if to.mechanism == OAUTH:
        found |= {
            "sasl.mechanism": OAUTH,
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": to.token_url,
            "sasl.oauthbearer.client.id": to.user,
            "sasl.oauthbearer.client.secret": to.password,
        }
        if to.scope:
            found["sasl.oauthbearer.scope"] = to.scope
    elif to.mechanism is not None:
        found |= {"sasl.mechanism": to.mechanism, "sasl.username": to.user, "sasl.password": to.password}
    return found


class Errors(list[KafkaError]):
    """What librdkafka tells beside its calls, which only say that no broker was reached in time."""

    def settings(self, to: Credentials, **more: Any) -> dict[str, Any]:
        """Everything that a client of confluent-kafka takes, callbacks too."""
        return settings_of(to) | {"error_cb": self.append, "log_level": 0} | more

    def check(self) -> None:
        """It says in one line that all brokers are down, and in another why."""
        for error in self:
            if error.code() != KafkaError._ALL_BROKERS_DOWN:
                raise Refused(f"{error.name()}: {error.str()}")


class Confluent(Client):
    def produce(self, to: Credentials, topic: str, text: str) -> None:
        errors = Errors()
        self._send(Producer(errors.settings(to)), errors, topic, text)

    def transaction(self, to: Credentials, topic: str, text: str, name: str) -> None:
        errors = Errors()
        producer = Producer(errors.settings(to, **{"transactional.id": name}))
        producer.init_transactions(30)
        producer.begin_transaction()
        self._send(producer, errors, topic, text)
        producer.commit_transaction(30)

    def _send(self, producer: Producer, errors: Errors, topic: str, text: str) -> None:
        delivered: list[KafkaError | None] = []
        producer.produce(topic, value=text.encode(), on_delivery=lambda error, _: delivered.append(error))
        try:
            _await(lambda: bool(delivered), producer.poll, errors)
        except Refused:
            producer.purge()
            producer.flush(5)
            raise
        assert delivered == [None], delivered

    def consume(self, to: Credentials, topic: str, group: str) -> str:
        errors = Errors()
        more = {"group.id": group, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
        consumer = Consumer(errors.settings(to, **more))
        try:
            consumer.subscribe([topic])
            deadline = time.monotonic() + SECONDS
            while time.monotonic() < deadline:
                message = consumer.poll(0.2)
                errors.check()
                if message is not None and message.error() is None:
                    consumer.commit(message=message, asynchronous=False)
                    return (message.value() or b"").decode()
            raise TimeoutError(f"nothing read in {SECONDS} s")
        finally:
            consumer.close()

    def admin(self, to: Credentials, topic: str) -> None:
        errors = Errors()
        admin = AdminClient(errors.settings(to))
        made = admin.create_topics([NewTopic(topic, 1, 1)])[topic]
        _await(made.done, admin.poll, errors)
        made.result()
        assert topic in admin.list_topics(timeout=SECONDS).topics
        admin.delete_topics([topic])[topic].result(SECONDS)


def _await(done: Callable[[], bool], poll: Callable[[float], object], errors: Errors) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < deadline, f"not done in {SECONDS} s, and no error told"
        poll(0.1)
        errors.check()

"""aiokafka."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.security.matrix.clients.contract import Client, refusals_in_log
from tests.security.matrix.clients.tokens import fetch
from tests.security.matrix.ways import OAUTH, Credentials


class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no types
    def __init__(self, to: Credentials) -> None:
        self._to = to

    async def token(self) -> str:
        return await asyncio.to_thread(fetch, self._to)


class AioKafka(Client):
    def produce(self, to: Credentials, topic: str, text: str) -> None:
        async def run() -> None:
            producer = AIOKafkaProducer(**_settings(to))
            try:
                await producer.start()
                await producer.send_and_wait(topic, text.encode())
            finally:
                await producer.stop()  # `async with` leaves one open that could not log in

        with refusals_in_log("aiokafka"):
            asyncio.run(run())

    def transaction(self, to: Credentials, topic: str, text: str, name: str) -> None:
        async def run() -> None:
            producer = AIOKafkaProducer(transactional_id=name, **_settings(to))
            try:
                await producer.start()
                async with producer.transaction():
                    await producer.send_and_wait(topic, text.encode())
            finally:
                await producer.stop()

        with refusals_in_log("aiokafka"):
            asyncio.run(run())

    def consume(self, to: Credentials, topic: str, group: str) -> str:
        async def run() -> str:
            consumer = AIOKafkaConsumer(
                topic,
                group_id=group,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
                **_settings(to),
            )
            try:
                await consumer.start()
                message = await asyncio.wait_for(consumer.getone(), 30)
                await consumer.commit()
                return str(message.value.decode())
            finally:
                await consumer.stop()

        with refusals_in_log("aiokafka"):
            return asyncio.run(run())

    def admin(self, to: Credentials, topic: str) -> None:
        async def run() -> None:
            admin = AIOKafkaAdminClient(**_settings(to))
            try:
                await admin.start()
                await admin.create_topics([NewTopic(topic, 1, 1)])
                assert topic in await admin.list_topics()
                await admin.delete_topics([topic])
            finally:
                await admin.close()

        with refusals_in_log("aiokafka"):
            asyncio.run(run())


def _settings(to: Credentials) -> dict[str, Any]:  # what is passed on as keywords of a client without types
    found: dict[str, Any] = {"bootstrap_servers": to.bootstrap, "security_protocol": to.protocol}
    if to.ca is not None:
        context = ssl.create_default_context(cafile=str(to.ca))
        if to.certificate is not None:
            context.load_cert_chain(to.certificate.certificate, to.certificate.key)
        found["ssl_context"] = context
    if to.mechanism == OAUTH:
        found |= {"sasl_mechanism": OAUTH, "sasl_oauth_token_provider": Tokens(to)}
    elif to.mechanism is not None:
        found |= {
            "sasl_mechanism": to.mechanism,
            "sasl_plain_username": to.user,
            "sasl_plain_password": to.password,
        }
    return found

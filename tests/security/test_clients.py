"""Every client with every kind of login: a record in, the same record out by a group, and the client's own error for a
wrong password. Each client reads its own settings; nothing of ours is in between."""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kafka import KafkaConsumer, KafkaProducer

from tests.security.conftest import PASSWORDS, PROTOCOLS, USER, SecuredNode
from tests.support.java import JavaTools
from tests.support.js import KafkaJs

WAYS = [("TLS", None), ("LOGIN", "SCRAM-SHA-256"), ("SECURE", "PLAIN"), ("SECURE", "SCRAM-SHA-512")]
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class Way(NamedTuple):
    """How to reach the node, as each client is told in its own words."""

    bootstrap: str
    protocol: str
    mechanism: str | None
    password: str
    ca: Path
    folder: Path

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")


Client = Callable[[Way, str, str], str]
"""Writes the text to the topic, reads it back by a group, and gives what it read."""


def way(secured: SecuredNode, listener: str, mechanism: str | None, folder: Path, password: str | None = None) -> Way:
    secret = password or PASSWORDS.get(mechanism or "", "")
    return Way(secured.address(listener), PROTOCOLS[listener], mechanism, secret, secured.authority.file, folder)


def kcat(to: Way, topic: str, text: str) -> str:
    words = ["kcat", "-b", to.bootstrap, "-X", f"security.protocol={to.protocol}"]
    if to.has_tls:
        words += ["-X", f"ssl.ca.location={to.ca}"]
    if to.mechanism is not None:
        for name, value in (("mechanism", to.mechanism), ("username", USER), ("password", to.password)):
            words += ["-X", f"sasl.{name}={value}"]
    subprocess.run([*words, "-P", "-t", topic], input=text, text=True, check=True, timeout=60, capture_output=True)
    read = [*words, "-X", "auto.offset.reset=earliest", "-c", "1", "-G", f"group-{topic}", topic]
    return subprocess.run(read, text=True, check=True, timeout=60, capture_output=True).stdout.strip()


def kafka_python(to: Way, topic: str, text: str) -> str:
    settings: dict[str, object] = {"bootstrap_servers": to.bootstrap, "security_protocol": to.protocol}
    if to.has_tls:
        settings["ssl_cafile"] = str(to.ca)
    if to.mechanism is not None:
        settings |= {"sasl_mechanism": to.mechanism, "sasl_plain_username": USER, "sasl_plain_password": to.password}
    producer = KafkaProducer(**settings)
    producer.send(topic, text.encode()).get(30)
    producer.close()
    consumer = KafkaConsumer(
        topic, group_id=f"group-{topic}", auto_offset_reset="earliest", consumer_timeout_ms=30_000, **settings
    )
    try:
        return str(next(iter(consumer)).value.decode())
    finally:
        consumer.close()


def aiokafka(to: Way, topic: str, text: str) -> str:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    settings: dict[str, object] = {"bootstrap_servers": to.bootstrap, "security_protocol": to.protocol}
    if to.has_tls:
        settings["ssl_context"] = ssl.create_default_context(cafile=str(to.ca))
    if to.mechanism is not None:
        settings |= {"sasl_mechanism": to.mechanism, "sasl_plain_username": USER, "sasl_plain_password": to.password}

    async def run() -> str:
        producer = AIOKafkaProducer(**settings)
        try:
            await producer.start()
            await producer.send_and_wait(topic, text.encode())
        finally:
            await producer.stop()  # `async with` leaves one open that could not log in
        group = {"group_id": f"group-{topic}", "auto_offset_reset": "earliest"}
        async with AIOKafkaConsumer(topic, **group, **settings) as consumer:
            message = await asyncio.wait_for(consumer.getone(), 30)
            return str(message.value.decode())

    return asyncio.run(run())


@pytest.fixture(scope="module")
def clients(java: JavaTools) -> dict[str, Client]:
    def tools(to: Way, topic: str, text: str) -> str:
        """Java's client, by Kafka's own console tools."""
        lines = [f"security.protocol={to.protocol}"]
        if to.has_tls:
            lines += ["ssl.truststore.type=PEM", f"ssl.truststore.location={to.ca}"]
        if to.mechanism is not None:
            module = PLAIN_MODULE if to.mechanism == "PLAIN" else SCRAM_MODULE
            lines.append(f"sasl.mechanism={to.mechanism}")
            lines.append(f'sasl.jaas.config={module} username="{USER}" password="{to.password}";')
        file = to.folder / "client.properties"
        file.write_text("\n".join(lines) + "\n")
        where = ("--bootstrap-server", to.bootstrap, "--topic", topic, "--command-config", str(file))
        java.run("org.apache.kafka.tools.ConsoleProducer", *where, stdin=text + "\n")
        read = ("--from-beginning", "--max-messages", "1", "--timeout-ms", "30000", "--group", f"group-{topic}")
        return java.run("org.apache.kafka.tools.consumer.ConsoleConsumer", *where, *read).out.strip()

    return {"kcat": kcat, "kafka-python": kafka_python, "aiokafka": aiokafka, "java": tools}


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
@pytest.mark.parametrize("name", ["kcat", "kafka-python", "aiokafka", "java"])
def test_a_record_goes_in_and_comes_out(
    secured: SecuredNode, clients: dict[str, Client], tmp_path: Path, name: str, listener: str, mechanism: str | None
) -> None:
    topic, text = f"clients-{uuid.uuid4().hex[:8]}", f"hello from {name}"
    make_topic(secured, topic)
    assert clients[name](way(secured, listener, mechanism, tmp_path), topic, text) == text


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_kafkajs(secured: SecuredNode, listener: str, mechanism: str | None) -> None:
    topic = f"clients-{uuid.uuid4().hex[:8]}"
    make_topic(secured, topic)
    told: dict[str, Any] = {"bootstrap": secured.address(listener), "topic": topic}
    if PROTOCOLS[listener].endswith("SSL"):
        told["ca"] = secured.authority.file.read_text()
    if mechanism is not None:
        name = mechanism.lower().replace("scram-sha", "scram-sha")
        told["sasl"] = {"mechanism": name, "username": USER, "password": PASSWORDS[mechanism]}
    js = KafkaJs()
    try:
        value = base64.b64encode(b"hello").decode()
        js.job("produce", records=[{"key": None, "value": value}], **told)
        (record,) = js.job("consume", group=f"group-{topic}", **told)
        assert record["value"] == value
    finally:
        js.close()


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("kcat", "CalledProcessError"),
        ("kafka-python", "Authentication|NoBrokersAvailable|Timeout"),
        ("aiokafka", "Authentication|KafkaConnectionError"),
    ],
)
def test_a_wrong_password(
    secured: SecuredNode, clients: dict[str, Client], tmp_path: Path, name: str, error: str
) -> None:
    topic = f"clients-{uuid.uuid4().hex[:8]}"
    make_topic(secured, topic)
    to = way(secured, "SECURE", "SCRAM-SHA-512", tmp_path, password="a wrong one")
    with pytest.raises(Exception) as refused:  # each client has an error of its own
        clients[name](to, topic, "never stored")
    assert re.search(error, f"{type(refused.value).__name__}: {refused.value}"), refused.value
    assert end_of(secured, topic) == 0


def test_a_wrong_password_of_java(secured: SecuredNode, java: JavaTools, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "security.protocol=SASL_SSL\nssl.truststore.type=PEM\nsasl.mechanism=SCRAM-SHA-512\n"
        f"ssl.truststore.location={secured.authority.file}\n"
        f'sasl.jaas.config={SCRAM_MODULE} username="{USER}" password="a wrong one";\n'
    )
    where = ("--bootstrap-server", secured.address("SECURE"), "--command-config", str(file))
    done = java.run("org.apache.kafka.tools.TopicCommand", *where, "--list", check=False)
    assert done.code != 0 and "invalid credentials" in done.out + done.err


def make_topic(secured: SecuredNode, topic: str) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": secured.address("OPEN")})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)


def end_of(secured: SecuredNode, topic: str) -> int:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": secured.address("OPEN"), "group.id": "x"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), 30)[1])
    finally:
        consumer.close()

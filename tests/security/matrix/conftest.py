"""The node of the matrix, and its clients, each started once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.security.matrix.clients.aio import AioKafka
from tests.security.matrix.clients.confluent import Confluent
from tests.security.matrix.clients.contract import Client
from tests.security.matrix.clients.franz_go import FranzGo
from tests.security.matrix.clients.java import Java
from tests.security.matrix.clients.kafka_python import KafkaPython
from tests.security.matrix.clients.kafkajs import JavaScript
from tests.security.matrix.clients.kcat import Kcat
from tests.security.matrix.node import Stage, stage
from tests.support.java import JavaTools
from tests.support.js import KafkaJs


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("matrix")) as made:
        yield made


@pytest.fixture(scope="session")
def client_of(node: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Client]]:
    def java() -> Client:
        # Kafka 4 asks for the endpoints that a client may be sent to.
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={node.provider.url('cluster')}"
        return Java(JavaTools(tmp_path_factory.mktemp("java"), allowed))

    makers: dict[str, Callable[[], Client]] = {
        "confluent-kafka": Confluent,
        "java": java,
        "aiokafka": AioKafka,
        "kafka-python": KafkaPython,
        "franz-go": FranzGo,
        "kafkajs": lambda: JavaScript(KafkaJs()),
        "kcat": Kcat,
    }
    made: dict[str, Client] = {}

    def of(name: str) -> Client:
        if name not in made:
            made[name] = makers[name]()
        return made[name]

    yield of
    for each in made.values():
        each.close()

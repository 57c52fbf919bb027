"""What the client tests share: the tools that stand outside Python, and an admin."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.java import JavaTools
from tests.support.js import KafkaJs
from tests.support.members import QUIET
from tests.support.records import Tools


@pytest.fixture(scope="session")
def js() -> Iterator[KafkaJs]:
    client = KafkaJs()
    yield client
    client.close()


@pytest.fixture(scope="session")
def tools(bootstrap: str, java: JavaTools, js: KafkaJs) -> Tools:
    return Tools(bootstrap, java, js)


@pytest.fixture(scope="session")
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({**QUIET, "bootstrap.servers": bootstrap})


@pytest.fixture
def create(admin: AdminClient) -> Callable[..., str]:
    """`create(name, partitions, **configs)` (dots as underscores) makes a topic and returns its name."""

    def make(name: str, partitions: int = 1, **configs: str) -> str:
        config = {key.replace("_", "."): value for key, value in configs.items()}
        admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(20)
        return name

    return make

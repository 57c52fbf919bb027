"""A Browser on a real cluster for one story, and what a plain confluent-kafka loop reads to compare with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition

from barnabas.browse import Browser
from barnabas.link.async_nodes import AsyncNodes, AsyncOptions
from tests.support.members import QUIET

Result = TypeVar("Result")


def connector(bootstrap: str) -> Callable[[], AsyncNodes]:
    addresses = [(host, int(port)) for host, _, port in (each.rpartition(":") for each in bootstrap.split(","))]
    return lambda: AsyncNodes(addresses, AsyncOptions("test", connect_timeout_s=10))


def browse(bootstrap: str, story: Callable[[Browser], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        browser = Browser(connector(bootstrap))
        try:
            return await story(browser)
        finally:
            browser.close()

    return asyncio.run(run())


def producer(bootstrap: str, **settings: object) -> Producer:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer({**QUIET, "bootstrap.servers": bootstrap, "linger.ms": 5, **given})


def headers_of(message: Message) -> list[tuple[str, object]]:
    return [(str(each[0]), each[1]) for each in message.headers() or ()]


def everything(bootstrap: str, topic: str, partitions: int, *, committed: bool = False) -> list[Message]:
    """Every record, by a loop of confluent-kafka's consumer."""
    settings: Mapping[str, object] = {
        **QUIET,
        "bootstrap.servers": bootstrap,
        "group.id": "plain-loop",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed" if committed else "read_uncommitted",
    }
    consumer = Consumer(dict(settings))
    consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in range(partitions)])
    found: list[Message] = []
    left = partitions
    while left:
        for message in consumer.consume(1000, 1.0):
            error = message.error()
            if error is None:
                found.append(message)
            else:
                assert error.code() == -191, error  # the end of a partition
                left -= 1
    consumer.close()
    return found

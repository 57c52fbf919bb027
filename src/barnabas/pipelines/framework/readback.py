"""Reading topics from their end on, as any consumer would, without a group: for the screen and the demo."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.client.common.rdkafka import ConsumerHandle
    from barnabas.pipelines.framework.progress.watching import Shown

WAIT_S = 0.2
MOST = 2000


def read_from_end(bootstrap: str, topics: Sequence[str], ended: Callable[[], bool]) -> Iterator[Shown]:
    """Each committed record that is written from now on, until `ended` says so."""
    from confluent_kafka import OFFSET_END, Consumer, TopicPartition

    from barnabas.client.common.connection import librdkafka_settings, open_handle
    from barnabas.pipelines.framework.progress.watching import Shown

    ours = {"group.id": "barnabas-screen", "enable.auto.commit": False, "fetch.wait.max.ms": 50}
    ours |= {"isolation.level": "read_committed", "client.id": "barnabas-screen"}
    handle: ConsumerHandle = open_handle(Consumer, librdkafka_settings(bootstrap, ours, {}, {}), "connect")
    try:
        known = handle.list_topics(timeout=10).topics
        places = [
            TopicPartition(topic, index, _end(handle, topic, index, OFFSET_END))
            for topic in topics
            if topic in known
            for index in known[topic].partitions
        ]
        handle.assign(places)
        while not ended():
            for message in handle.consume(MOST, WAIT_S):
                if message.error() is None:
                    headers = {name: (value or b"").decode(errors="replace") for name, value in message.headers() or ()}
                    key = (message.key() or b"").decode(errors="replace")
                    yield Shown(message.topic(), int(time.time() * 1000), message.value() or b"", headers, key)
    finally:
        handle.close()


def _end(handle: ConsumerHandle, topic: str, index: int, otherwise: int) -> int:
    """The end as of now: OFFSET_END would be looked up when the first fetch leaves, and what came between be missed."""
    from confluent_kafka import TopicPartition

    try:
        return int(handle.get_watermark_offsets(TopicPartition(topic, index), timeout=10)[1])
    except Exception:  # librdkafka's errors have no common class of their own; the summary does without
        return otherwise

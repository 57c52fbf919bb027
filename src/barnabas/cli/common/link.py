"""The command line's way to a cluster: an Admin for questions, bare librdkafka handles where speed matters.

`produce` and `consume` move whole batches between librdkafka and a pipe, so they take its Producer and Consumer without
the library's serializers on top; settings, the proof that somebody is there and the error texts are the library's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from barnabas.cli.common.failure import Failure

if TYPE_CHECKING:
    from confluent_kafka import KafkaException, Producer

    from barnabas.client.admin.admin import Admin
    from barnabas.client.common.rdkafka import ConsumerHandle, Handle

CONNECT_TIMEOUT_S = 2.0  # until something takes the connection; a person waits
# Then until it answers: a busy node, or one that answers late after failed logins (5 s at most), is there and slow; one
# that waits for its quorum does not answer.
SERVING_S = 8.0
ADMIN_SETTINGS = {
    "client.id": "barnabas-cli",
    # Lag in seconds reads one record of each partition in turn; librdkafka would wait a second between them.
    "fetch.queue.backoff.ms": 1,
}


@contextmanager
def admin(bootstrap: str, timeout_s: float = 30.0) -> Iterator[Admin]:
    from barnabas.client.admin.admin import Admin
    from barnabas.client.common.connection import ensure_listening

    ensure_listening(bootstrap, CONNECT_TIMEOUT_S)
    with Admin(bootstrap, timeout=timeout_s, connect_timeout=SERVING_S, config=ADMIN_SETTINGS) as opened:
        yield opened


def consumer(bootstrap: str, settings: Mapping[str, object]) -> ConsumerHandle:
    from confluent_kafka import Consumer

    handle: ConsumerHandle = _open(Consumer, bootstrap, settings)
    return handle


def producer(bootstrap: str, settings: Mapping[str, object]) -> Producer:
    from confluent_kafka import Producer

    handle: Producer = _open(Producer, bootstrap, settings)
    return handle


def _open(kind: type, bootstrap: str, settings: Mapping[str, object]) -> Any:  # as open_handle
    from barnabas.client.common.connection import (
        Troubles,
        ensure_listening,
        ensure_reachable,
        librdkafka_settings,
        open_handle,
    )

    ensure_listening(bootstrap, CONNECT_TIMEOUT_S)
    troubles = Troubles()
    ours = librdkafka_settings(bootstrap, {"client.id": "barnabas-cli", "error_cb": troubles}, settings, {})
    handle = open_handle(kind, ours, "connect")
    ensure_reachable(handle, bootstrap, SERVING_S, troubles, ours)
    return handle


def partitions_of(handle: Handle, topic: str) -> list[int]:
    """The topic's partitions; a topic that is not there is a failure that names its nearest neighbour."""
    known = handle.list_topics(topic, timeout=10).topics.get(topic)
    if known is not None and known.error is None and known.partitions:
        return sorted(known.partitions)
    names = [name for name in handle.list_topics(timeout=10).topics if not name.startswith("__")]
    raise no_topic(topic, names)


def no_topic(topic: str, names: list[str], *, to_change: bool = False) -> Failure:
    """The nearest name, or how to go on: whoever wants to change or delete it has no use for a new one."""
    import difflib

    near = difflib.get_close_matches(topic, names, n=1)
    if near:
        return Failure(f"there is no topic {topic!r}", f"Did you mean {near[0]!r}?")
    if to_change:
        return Failure(f"there is no topic {topic!r}", "See which there are: barnabas topic list")
    return Failure(f"there is no topic {topic!r}", f"Create it: barnabas topic create {topic}")


def of_kafka_error(error: KafkaException) -> Failure:
    """librdkafka's error as one line, for a call that did not translate it by itself."""
    from barnabas.client.errors import translate

    return Failure(str(translate(error, "the cluster refused the request")))

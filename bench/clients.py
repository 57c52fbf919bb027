"""librdkafka as the load, with the client's own defaults, and payloads that look like activity events."""

from __future__ import annotations

import contextlib
import random
import time
import uuid
from collections.abc import Iterator, Sequence

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

WORDS = ("view", "click", "search", "profile", "company", "job", "share", "like", "follow", "feed", "invite")


def producer(bootstrap: str, **settings: object) -> Producer:
    """Settings by Kafka's names with _ for the dots."""
    base: dict[str, object] = {"acks": "all", "delivery.report.only.error": True, "log_level": 0}
    return Producer(base | {"bootstrap.servers": bootstrap} | _dotted(settings))


def consumer(bootstrap: str, **settings: object) -> Consumer:
    base: dict[str, object] = {
        "auto.offset.reset": "earliest",
        "log_level": 0,
        # With its defaults librdkafka rests for a second whenever its queue is full: we would time its rest.
        "fetch.queue.backoff.ms": 1,
        "queued.min.messages": 1_000_000,
    }
    return Consumer(base | {"bootstrap.servers": bootstrap} | _dotted(settings))


def _dotted(settings: dict[str, object]) -> dict[str, object]:
    return {name.replace("_", "."): value for name, value in settings.items()}


def new_group() -> str:
    return f"bench-{uuid.uuid4().hex}"


def create_topic(bootstrap: str, partitions: int = 1, replicas: int = 1, **config: str) -> str:
    """A new topic whose partitions all have a leader."""
    name = f"bench-{uuid.uuid4().hex[:12]}"
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    settings = {key.replace("_", "."): value for key, value in config.items()}
    admin.create_topics([NewTopic(name, partitions, replicas, config=settings)])[name].result(120)
    wait_for_leaders(admin, name, partitions)
    return name


def wait_for_leaders(admin: AdminClient, name: str, partitions: int, patience_s: float = 120) -> None:
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        found = admin.list_topics(name, timeout=10).topics[name].partitions
        if len(found) == partitions and all(partition.leader >= 0 for partition in found.values()):
            return
        time.sleep(0.01)
    raise TimeoutError(f"{name}: partitions without a leader after {patience_s:.0f} s")


def delete_topic(bootstrap: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    with contextlib.suppress(KafkaException, TimeoutError):
        admin.delete_topics([name])[name].result(60)


@contextlib.contextmanager
def topic(bootstrap: str, partitions: int = 1, replicas: int = 1, **config: str) -> Iterator[str]:
    name = create_topic(bootstrap, partitions, replicas, **config)
    try:
        yield name
    finally:
        delete_topic(bootstrap, name)


def blast(client: Producer, name: str, values: Sequence[bytes], records: int) -> None:
    """Send `records` as fast as the client takes them and wait until every one is acknowledged."""
    chunk = [{"value": value} for value in values]
    sent = 0
    while sent < records:
        part = chunk[: records - sent]
        accepted = client.produce_batch(name, part)
        sent += accepted
        if accepted < len(part):  # the client's queue is full
            client.poll(0.002)
    if left := client.flush(300):
        raise TimeoutError(f"{left} records are not acknowledged after 300 s")


def payloads(size: int, count: int = 500) -> list[bytes]:
    """Text that compresses about as well as activity events do, and the same on every run."""
    chance = random.Random(size)
    out = []
    for number in range(count):
        text = f'{{"member":{chance.randrange(10**8)},"at":{1_700_000_000_000 + 37 * number},"event":"'
        while len(text) < size:
            text += f"{chance.choice(WORDS)}_{chance.randrange(10**5)} "
        out.append(text[:size].encode())
    return out

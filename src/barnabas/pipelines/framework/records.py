"""One record of a generator, and the hand that writes such records to a node.

Values are dicts and travel as JSON. A record's timestamp is the moment at which it is sent, as with any producer; when
the event happened stands inside the value. So the log itself says how late an event was. `feed` plays a generator in
real time: each record leaves when the clock has come to its time, and after a slow moment all that are due leave at
once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.model.json_values import JsonObject

if TYPE_CHECKING:
    from confluent_kafka import Producer

TICK_S = 0.005
FLUSH_S = 30.0

TOMBSTONE: JsonObject = {}  # this very object as a value: the record has none, it deletes its key


@dataclass(frozen=True, slots=True)
class Record:
    """Where it goes, its key, its value, and when it is sent, in milliseconds since 1970."""

    topic: str
    key: str | None
    value: JsonObject
    time_ms: int
    headers: Mapping[str, bytes] | None = None


def open_producer(bootstrap: str) -> Producer:
    """A bare librdkafka producer that loses nothing over a restart of the node."""
    from confluent_kafka import Producer

    from barnabas.client.common.connection import librdkafka_settings, open_handle

    ours = {"enable.idempotence": True, "linger.ms": 2, "client.id": "barnabas-feed"}
    producer: Producer = open_handle(Producer, librdkafka_settings(bootstrap, ours, {}, {}), "connect")
    return producer


def write(bootstrap: str, records: Iterable[Record], rename: Callable[[str], str] = str) -> int:
    """Write them all as fast as they come, and wait until the node has them. Returns how many."""
    producer = open_producer(bootstrap)
    count = 0
    for record in records:
        _send(producer, record, rename)
        count += 1
        if count % 1000 == 0:
            producer.poll(0)
    left = producer.flush(FLUSH_S)
    if left:
        raise TimeoutError(f"{left} of {count} records were not acknowledged in {FLUSH_S:.0f} s")
    return count


def feed(
    bootstrap: str,
    records: Iterator[Record],
    goes_on: Callable[[], bool],
    rename: Callable[[str], str] = str,
    written: Callable[[Record], None] | None = None,
) -> int:
    """Write each record when the wall clock has come to its time, until `goes_on` says no. Returns how many."""
    producer = open_producer(bootstrap)
    count = 0
    for record in records:
        while record.time_ms > time.time() * 1000 and goes_on():
            producer.poll(0)
            time.sleep(TICK_S)
        if not goes_on():
            break
        _send(producer, record, rename)
        count += 1
        if written is not None:
            written(record)
        if count % 100 == 0:
            producer.poll(0)
    producer.flush(FLUSH_S)
    return count


def _send(producer: Producer, record: Record, rename: Callable[[str], str]) -> None:
    import msgspec

    value = None if record.value is TOMBSTONE else msgspec.json.encode(record.value)
    headers: dict[str, str | bytes | None] | None = dict(record.headers) if record.headers else None
    while True:
        try:
            producer.produce(rename(record.topic), value, record.key, timestamp=record.time_ms, headers=headers)
            return
        except BufferError:  # the queue is full: let it drain, as a producer that must not lose does
            producer.poll(0.05)

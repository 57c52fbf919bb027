"""The same mixed load on both servers before anything is measured: the JVM compiles what is hot, caches fill.

A JVM needs tens of thousands of calls of a path before it is compiled for good, so this is a matter of seconds, not of
a scale: `--quick` warms up as long as it can afford, and its figures for Kafka are a little too bad.
"""

from __future__ import annotations

import time

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from .clients import blast, consumer, payloads, producer, topic
from .options import Options
from .servers import Server
from .wire import Connection, pipeline, produce_frame, record_batch

SECONDS, QUICK_SECONDS = 25.0, 8.0
RECORDS, REQUESTS = 200_000, 10_000


def warm_up(server: Server, options: Options) -> None:
    end = time.monotonic() + (QUICK_SECONDS if options.quick else SECONDS)
    while time.monotonic() < end:
        with topic(server.bootstrap) as name:
            for size, compression in ((100, "none"), (1024, "lz4"), (1024, "none")):
                blast(producer(server.bootstrap, compression_type=compression), name, payloads(size), RECORDS)
            connection = Connection(server.address)
            pipeline(connection, name, produce_frame(name, record_batch([b"x" * 100])), REQUESTS)
            connection.close()
            _read(server, name, 3 * RECORDS)


def _read(server: Server, name: str, records: int) -> None:
    reader = consumer(server.bootstrap, group_id="bench-unused", enable_auto_commit=False)
    reader.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
    got = 0
    end = time.monotonic() + 60
    while got < records and time.monotonic() < end:
        got += len(reader.consume(20_000, 1.0))
    reader.close()

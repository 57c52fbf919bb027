"""A record every second in `heartbeats` of the source, which is mirrored like any topic: what arrives at the target
shows that the whole way works. MirrorClient finds the clusters upstream by these topics."""

from __future__ import annotations

import time

from confluent_kafka import KafkaException

from barnabas.connect.cluster.connection import Cluster, new_topic
from barnabas.connect.connectors.mirror.mirrormaker import heartbeat
from barnabas.connect.connectors.mirror.names import HEARTBEATS, Naming
from barnabas.connect.contract import Chunk, Reader
from barnabas.connect.errors import Unavailable

_EVERY_S = 1.0


class HeartbeatsReader(Reader):
    def __init__(self, source: Cluster, naming: Naming) -> None:
        source.ensure_topics([new_topic(HEARTBEATS, 1, cleanup_policy="compact")])
        self._producer = source.producer(linger_ms=0)
        self._naming = naming
        self._due = 0.0

    def read(self, most: int, wait_s: float) -> Chunk | None:
        """Reads nothing: what it writes comes back as records of a topic."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _EVERY_S
            now_ms = int(time.time() * 1000)
            # As MirrorMaker names them: heartbeats come into a cluster by the flow from the other one.
            key, value = heartbeat(self._naming.target, self._naming.source, now_ms)
            try:
                self._producer.produce(HEARTBEATS, value, key, 0, timestamp=now_ms)
            except BufferError:
                pass  # the source is away, and many wait already
            except KafkaException as problem:
                raise Unavailable(f"heartbeats: {problem.args[0].str()}") from None
            self._producer.poll(0)
        return None

    def close(self) -> None:
        self._producer.purge()
        self._producer.flush(1)

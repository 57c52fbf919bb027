"""The maps of offsets that the workers of a flow keep in its positions, followed as they change."""

from __future__ import annotations

import time

import msgspec
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.connectors.mirror.offset_map import OffsetMap
from barnabas.connect.definition.definition import POSITIONS_SUFFIX
from barnabas.connect.errors import Unavailable

_LOAD_S = 30.0
_LOOK_S = 60.0


class CopiedPlace(msgspec.Struct):
    """A position of `copying.py`, as far as others read it."""

    offset: int
    map: list[int]
    lost: int = 0


class Maps:
    def __init__(self, cluster: Cluster, flow: str, look_s: float = _LOOK_S) -> None:
        """`cluster` is the flow's target. `look_s`: how often positions are looked for that are not there."""
        self._cluster, self._topic, self._look_s = cluster, flow + POSITIONS_SUFFIX, look_s
        self._consumer: Consumer | None = None
        self._rows: dict[tuple[str, int], bytes] = {}
        self._ended: set[int] = set()
        self._look_at = 0.0

    def refresh(self) -> None:
        """Everything that is committed now, the first time; later what has come since."""
        if self._consumer is None:
            if time.monotonic() < self._look_at:
                return
            partitions = self._cluster.partitions_of(self._topic)
            if not partitions:
                self._look_at = time.monotonic() + self._look_s
                return
            self._consumer = self._cluster.consumer(
                group_id="barnabas-mirror-maps", enable_partition_eof=True, fetch_wait_max_ms=50
            )
            self._consumer.assign([TopicPartition(self._topic, each, OFFSET_BEGINNING) for each in partitions])
            self._load(len(partitions))
        while messages := self._consume(0.0):
            self._take(messages)

    def _load(self, partitions: int) -> None:
        deadline = time.monotonic() + _LOAD_S
        while len(self._ended) < partitions:
            if messages := self._consume(0.1):
                self._take(messages)
                deadline = time.monotonic() + _LOAD_S
            if time.monotonic() > deadline:
                self.close()
                raise Unavailable(f"topic {self._topic} cannot be read to its end")

    def _consume(self, wait_s: float) -> list[Message]:
        consumer = self._consumer
        assert consumer is not None
        found: list[Message] = called(lambda: consumer.consume(1000, timeout=wait_s))
        return found

    def _take(self, messages: list[Message]) -> None:
        for message in messages:
            error, key, value = message.error(), message.key(), message.value()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    self._ended.add(message.partition() or 0)
                continue
            topic, colon, partition = bytes(key or b"").decode("utf-8", "replace").rpartition(":")
            if not colon or not partition.isdigit():
                continue
            if value is None:
                self._rows.pop((topic, int(partition)), None)
            else:
                self._rows[topic, int(partition)] = value

    @property
    def places(self) -> list[tuple[str, int]]:
        return sorted(self._rows)

    def copied(self, topic: str, partition: int) -> CopiedPlace | None:
        value = self._rows.get((topic, partition))
        try:
            return None if value is None else msgspec.json.decode(value, type=CopiedPlace)
        except msgspec.MsgspecError:
            return None  # of a later version

    def of(self, topic: str, partition: int) -> OffsetMap | None:
        found = self.copied(topic, partition)
        return OffsetMap.decoded(found.map) if found is not None and len(found.map) >= 3 else None

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
            self._ended.clear()
            self._rows.clear()

"""Which connectors there are and whether they are to run: a compacted topic that every worker follows."""

from __future__ import annotations

from typing import Literal

import msgspec
from confluent_kafka import KafkaError, Message, TopicPartition

from barnabas.connect.cluster.compacted import bounds_of, read_table
from barnabas.connect.cluster.connection import Cluster, called, new_topic
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import Unavailable

DEFINITIONS_TOPIC = "__connect_definitions"
_WRITE_S = 30.0


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    definition: Definition
    state: Literal["running", "paused"] = "running"
    restarts: int = 0  # one more: whoever runs it starts it anew
    from_file: bool = False  # run by `connect run FILE` only; not by workers that run everything
    changed_ms: int = 0


def ensure(cluster: Cluster) -> None:
    cluster.ensure_topics([new_topic(DEFINITIONS_TOPIC, 1, cleanup_policy="compact")])


def read_all(cluster: Cluster) -> dict[str, Entry]:
    if not cluster.partitions_of(DEFINITIONS_TOPIC):
        return {}
    rows = read_table(cluster, DEFINITIONS_TOPIC, [0])
    return {key.decode(): entry for key, value in rows.items() if (entry := decoded(value)) is not None}


def write(cluster: Cluster, name: str, entry: Entry | None) -> None:
    """None removes it."""
    # Not idempotent: librdkafka would wait for half a second to become that, and to write an entry twice does no harm.
    producer = cluster.producer(linger_ms=0, enable_idempotence=False)
    called(lambda: producer.list_topics(DEFINITIONS_TOPIC, _WRITE_S))  # else it looks for the leader once a second
    problems: list[KafkaError] = []
    producer.produce(
        DEFINITIONS_TOPIC,
        key=name.encode(),
        value=None if entry is None else msgspec.json.encode(entry),
        partition=0,
        on_delivery=lambda error, _: problems.append(error) if error is not None else None,
    )
    if producer.flush(_WRITE_S) or problems:
        reason = problems[0].str() if problems else f"no answer in {_WRITE_S:.0f} s"
        raise Unavailable(f"the definition of {name} cannot be written: {reason}")


def decoded(value: bytes) -> Entry | None:
    """None for what a later version has written, or somebody else."""
    try:
        return msgspec.json.decode(value, type=Entry)
    except (msgspec.MsgspecError, ValueError):
        return None


class Followed:
    """The table as it changes."""

    def __init__(self, cluster: Cluster) -> None:
        self._consumer = cluster.consumer(group_id="barnabas-connect-definitions", enable_partition_eof=True)
        self._read_to, self._end = bounds_of(self._consumer, DEFINITIONS_TOPIC, 0)
        self._consumer.assign([TopicPartition(DEFINITIONS_TOPIC, 0, self._read_to)])
        self.entries: dict[str, Entry] = {}

    @property
    def is_loaded(self) -> bool:
        """Everything has been read that was there at first. The end of the partition is said only after a fetch that
        has waited for more."""
        return self._read_to >= self._end

    def poll(self, wait_s: float) -> None:
        """Waits for the first message only."""
        if (message := called(lambda: self._consumer.poll(wait_s))) is None:
            return
        self._take(message)
        for each in called(lambda: self._consumer.consume(100, timeout=0)):
            self._take(each)

    def _take(self, message: Message) -> None:
        error, offset, key, value = message.error(), message.offset(), message.key(), message.value()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF and offset is not None:
                self._read_to = offset
            return
        assert offset is not None
        self._read_to = offset + 1
        if key is None:
            return
        name = bytes(key).decode("utf-8", "replace")
        entry = None if value is None else decoded(value)
        if entry is None:
            self.entries.pop(name, None)
        else:
            self.entries[name] = entry

    def close(self) -> None:
        self._consumer.close()

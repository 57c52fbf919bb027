"""Records that cannot be delivered, on NAME.dead, with the headers of Kafka Connect (KIP-298): tools that know those
find the topic, the offset and the reason there. Key and value are the original bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barnabas.connect.cluster.connection import Cluster, new_topic
from barnabas.connect.contract import Headers
from barnabas.connect.definition.definition import Definition

Stage = Literal["KEY_CONVERTER", "VALUE_CONVERTER", "TRANSFORMATION", "TASK_PUT", "PRODUCE"]

PREFIX = "__connect.errors."
TOPIC, PARTITION, OFFSET = PREFIX + "topic", PREFIX + "partition", PREFIX + "offset"
REASON = PREFIX + "exception.message"
_REASON_MAX = 2000


@dataclass(frozen=True)
class DeadLetter:
    topic: str
    partition: int  # -1 of a source's record, which has none yet
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int | None
    stage: Stage
    reason: str

    def all_headers(self, definition: Definition, task: int) -> list[tuple[str, bytes | None]]:
        kept = [each for each in self.headers if not each[0].startswith(PREFIX)]
        told = {
            TOPIC: self.topic,
            PARTITION: str(self.partition),
            OFFSET: str(self.offset),
            PREFIX + "connector.name": definition.name,
            PREFIX + "task.id": str(task),
            PREFIX + "stage": self.stage,
            PREFIX + "class.name": definition.connector,
            PREFIX + "exception.class.name": self.stage,
            REASON: self.reason[:_REASON_MAX],
        }
        return [*kept, *((name, text.encode("utf-8", "replace")) for name, text in told.items())]


def ensure(cluster: Cluster, definition: Definition) -> None:
    """The topic of dead letters, and for a sink the one by which they come again. Kept for ever: a dead letter waits
    for a person."""
    names = [definition.dead_topic, *([definition.redrive_topic] if definition.side == "sink" else [])]
    cluster.ensure_topics(new_topic(each, 1, retention_ms="-1") for each in names)

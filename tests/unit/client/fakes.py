"""Stand-ins for librdkafka: a message, and a consumer that serves batches from memory and remembers commits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as Place

from barnabas.model.ids import TopicPartition


class FakeMessage:
    def __init__(
        self,
        offset: int,
        partition: int = 0,
        topic: str = "t",
        value: bytes | None = b"v",
        key: bytes | None = None,
        headers: list[tuple[str, bytes]] | None = None,
        error: KafkaError | None = None,
    ) -> None:
        self._fields = (topic, partition, offset, key, value, headers, error)

    def topic(self) -> str:
        return self._fields[0]

    def partition(self) -> int:
        return self._fields[1]

    def offset(self) -> int:
        return self._fields[2]

    def key(self) -> bytes | None:
        return self._fields[3]

    def value(self) -> bytes | None:
        return self._fields[4]

    def headers(self) -> list[tuple[str, bytes]] | None:
        return self._fields[5]

    def error(self) -> KafkaError | None:
        return self._fields[6]

    def timestamp(self) -> tuple[int, int]:
        return (1, 1_000 + self._fields[2])


class FakeHandle:
    """Serves `queue` in order; `stored` and `commits` are what a cluster would know afterwards."""

    def __init__(self, *queue: FakeMessage) -> None:
        self.queue = list(queue)
        self.stored: dict[TopicPartition, int] = {}
        self.commits: list[dict[TopicPartition, int]] = []
        self.seeks: list[tuple[TopicPartition, int]] = []
        self.closed = False
        self.polls = 0
        self.commit_error: Exception | None = None

    def poll(self, timeout: float) -> FakeMessage | None:
        self.polls += 1
        return self.queue.pop(0) if self.queue else None

    def consume(self, count: int, timeout: float) -> list[FakeMessage]:
        taken, self.queue = self.queue[:count], self.queue[count:]
        return taken

    def store_offsets(self, offsets: list[Any]) -> None:
        self.stored.update({TopicPartition(each.topic, each.partition): each.offset for each in offsets})

    def commit(self, offsets: list[Any], asynchronous: bool) -> list[Any]:
        if self.commit_error is not None:
            raise self.commit_error
        self.commits.append({TopicPartition(each.topic, each.partition): each.offset for each in offsets})
        return offsets

    def seek(self, place: Any) -> None:
        self.seeks.append((TopicPartition(place.topic, place.partition), place.offset))

    def offsets_for_times(self, asked: list[Any], timeout: float) -> list[Any]:
        """As for the end: a hundred records in each partition."""
        return [Place(each.topic, each.partition, 100) for each in asked]

    def committed(self, asked: list[Any], timeout: float) -> list[Any]:
        if self.commit_error is not None:
            raise self.commit_error
        return [Place(each.topic, each.partition) for each in asked]

    def list_topics(self, topic: str, timeout: float) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions={})})

    def close(self) -> None:
        self.closed = True


class FakeMembership:
    def __init__(self, *assigned: TopicPartition) -> None:
        self.assigned = set(assigned)
        self.joined_at: float | None = 0.0
        self.member_id = ""

    def begin(self) -> None: ...

    def maintain(self) -> None: ...

    def abandon(self) -> None:
        self.assigned.clear()

"""Records of another cluster are handed on as soon as one is there."""

from types import SimpleNamespace
from typing import Any

from barnabas.connect.connectors.kafka.feed import Feed

PLACE = ("orders", 0)


class Consumer:
    """As confluent-kafka's: poll() returns with the first message, consume() when it has all or its time is over."""

    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages
        self.waited: list[float] = []

    def incremental_assign(self, places: list[Any]) -> None: ...

    def poll(self, timeout: float) -> Any:
        return self.messages.pop(0) if self.messages else None

    def consume(self, count: int, timeout: float) -> list[Any]:
        self.waited.append(timeout)
        found, self.messages = self.messages[:count], self.messages[count:]
        return found


def test_a_batch_is_not_waited_for() -> None:
    message = SimpleNamespace(error=lambda: None, topic=lambda: PLACE[0], partition=lambda: PLACE[1])
    consumer = Consumer([message] * 3)
    cluster: Any = SimpleNamespace(check=lambda: None, bootstrap="there:9092", consumer=lambda **_: consumer)
    feed = Feed(lambda on_error: cluster, "copy", "read_committed")
    feed.open(PLACE, 0, None)
    assert feed.take(PLACE, 2, 5.0) == [message] * 2
    assert feed.take(PLACE, 2, 5.0) == [message]
    assert consumer.waited == [0]
    assert feed.take(PLACE, 2, 0.0) == []

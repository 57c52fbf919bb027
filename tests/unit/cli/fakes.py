"""A record as librdkafka hands it over, without librdkafka."""

from dataclasses import dataclass


@dataclass
class FakeMessage:
    value_: bytes | None
    key_: bytes | None = None
    headers_: list[tuple[str, bytes | None]] | None = None
    partition_: int = 0
    offset_: int = 0
    timestamp_: int = 1_777_630_000_000
    topic_: str = "views"

    def value(self) -> bytes | None:
        return self.value_

    def key(self) -> bytes | None:
        return self.key_

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.headers_

    def partition(self) -> int:
        return self.partition_

    def offset(self) -> int:
        return self.offset_

    def timestamp(self) -> tuple[int, int]:
        return (1, self.timestamp_)

    def topic(self) -> str:
        return self.topic_

    def error(self) -> None:
        return None

"""What the coordinator knows of the cluster's topics: a narrow window on the metadata image."""

from collections.abc import Iterable
from typing import Protocol


class TopicsView(Protocol):
    @property
    def version(self) -> int:
        """Another number whenever a topic appeared, vanished or grew."""
        ...

    def partition_count(self, topic: str) -> int | None: ...

    def topic_id(self, name: str) -> bytes | None: ...

    def topic_name(self, topic_id: bytes) -> str | None: ...

    def names(self) -> Iterable[str]: ...

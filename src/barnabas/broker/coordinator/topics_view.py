"""What the group coordinators may know of the topics: the image, seen through a narrow window."""

from collections.abc import Callable, Iterable

from barnabas.core.cluster.image import MetadataImage


class ImageTopics:
    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        self._image = image

    @property
    def version(self) -> int:
        return self._image().offset

    def partition_count(self, topic: str) -> int | None:
        found = self._image().topics.get(topic)
        return len(found.partitions) if found is not None else None

    def topic_id(self, name: str) -> bytes | None:
        found = self._image().topics.get(name)
        return found.id if found is not None else None

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._image().topic_names.get(topic_id)

    def names(self) -> Iterable[str]:
        return self._image().topics

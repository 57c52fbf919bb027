"""The topics of the image, as the group coordinators read them."""

from collections.abc import Iterable

from barnabas.broker.roles import ClusterView


class ImageTopics:
    def __init__(self, cluster: ClusterView) -> None:
        self._cluster = cluster

    @property
    def version(self) -> int:
        return self._cluster.image.offset

    def partition_count(self, topic: str) -> int | None:
        found = self._cluster.image.topics.get(topic)
        return len(found.partitions) if found is not None else None

    def topic_id(self, name: str) -> bytes | None:
        found = self._cluster.image.topics.get(name)
        return found.id if found is not None else None

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._cluster.image.topic_names.get(topic_id)

    def names(self) -> Iterable[str]:
        return self._cluster.image.topics

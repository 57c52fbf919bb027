"""Who follows a new metadata image, and in which order.

The node subscribes its parts once, at the start, and the order of the subscriptions is the order of the calls: the
settings first, because all others read them; then the partitions; then replication, which looks at the partitions; the
coordinators; the controller, which may begin to decide; at last whoever answers Metadata.
"""

from collections.abc import Callable
from dataclasses import dataclass

from barnabas.core.cluster.image import MetadataImage
from barnabas.model.settings import ResourceType


@dataclass(frozen=True, slots=True)
class ImageChange:
    old: MetadataImage
    new: MetadataImage
    settings_changed: bool  # those of all nodes, or of this one

    @property
    def configs_changed(self) -> bool:
        """Settings of anything: nodes, topics, groups."""
        return self.settings_changed or self.old.configs is not self.new.configs

    @property
    def features_changed(self) -> bool:
        return self.settings_changed or self.old.features is not self.new.features

    @property
    def topics_changed(self) -> bool:
        """Topics or their numbers of partitions."""
        return self.old.shape is not self.new.shape


def image_change(old: MetadataImage, new: MetadataImage, node_id: int) -> ImageChange:
    names = ("", str(node_id))
    settings = any(old.config(ResourceType.BROKER, name) is not new.config(ResourceType.BROKER, name) for name in names)
    return ImageChange(old, new, settings)


class ImageBus:
    def __init__(self) -> None:
        self._subscribers: list[Callable[[ImageChange], None]] = []

    def subscribe(self, *subscribers: Callable[[ImageChange], None]) -> None:
        self._subscribers += subscribers

    def publish(self, change: ImageChange) -> None:
        for subscriber in self._subscribers:
            subscriber(change)

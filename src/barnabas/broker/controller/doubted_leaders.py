"""What clients are told by a broker that the controller no longer counts in (contact.py).

Cut off from the controllers, a broker knows the leaders of before. Where an in-sync replica is silent too, nothing can
be committed on this side: only a controller could take it out, and where there is one, it has named another leader by
now. There may be one only if half of the brokers or more are silent. Where fewer are, the leaders stand: a cluster
whose controllers are down goes on.

Clients of such a leader have to ask a broker on the other side. Java's ask any. librdkafka asks the one that it used
last of those that it is connected to, which is the leader that was cut off, and connects to it again at once when it is
sent away. So a broker that is cut off

* names no leader for such a partition, so that its clients stop sending to it,
* ends a connection that is older than a second once it has answered Metadata (broker/api/metadata.py),
* lets a new connection wait for a second before it answers ApiVersions (broker/api/api_versions.py).

With two such brokers, a client has neither at some moment within seconds, and asks a third.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import msgspec

from barnabas.core.cluster.image import MetadataImage, TopicImage

_NOBODY = -1
_LOOK_SECONDS = 0.5


class DoubtedLeaders:
    """`silent_brokers()`: those that should have been heard, and were not for a whole session."""

    def __init__(self, silent_brokers: Callable[[], frozenset[int]]) -> None:
        self._silent_brokers = silent_brokers
        self._silent: frozenset[int] = frozenset()
        self._looked_at = -_LOOK_SECONDS
        self._known: MetadataImage | None = None
        self._told: MetadataImage | None = None

    def told(self, image: MetadataImage) -> MetadataImage:
        now = asyncio.get_running_loop().time()
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            silent = self._silent_brokers()
            if silent != self._silent:
                self._silent, self._known = silent, None
        if 2 * len(self._silent) < len(image.live_brokers()):
            return image
        if self._told is None or self._known is not image:
            self._known = image
            topics = {name: without_leaders(topic, self._silent) for name, topic in image.topics.items()}
            self._told = replace(image, topics=topics)
        return self._told


def without_leaders(topic: TopicImage, silent: frozenset[int]) -> TopicImage:
    """Where one of these is in sync."""
    if not any(silent.intersection(partition.isr) for partition in topic.partitions):
        return topic
    partitions = tuple(
        msgspec.structs.replace(partition, leader=_NOBODY) if silent.intersection(partition.isr) else partition
        for partition in topic.partitions
    )
    return msgspec.structs.replace(topic, partitions=partitions)

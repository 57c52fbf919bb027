"""Which topics this node's own copy of the metadata log held when the process began, before it heard of newer changes.

The node has made folders of these topics only, and of topics that were deleted since. Records that turn out never to
have been committed do not count.
"""

from barnabas.core.cluster.image import MetadataImage


class TopicsAtStart:
    def __init__(self, image: MetadataImage, end_offset: int) -> None:
        """`image` is that of the newest snapshot, `end_offset` where the log ends."""
        self._end_offset = end_offset
        self._ids: frozenset[bytes] | None = None
        self.look(image)

    def knew(self, topic_id: bytes) -> bool:
        """True as well while it cannot be told."""
        return self._ids is None or topic_id in self._ids

    def truncated(self, end_offset: int) -> None:
        self._end_offset = min(self._end_offset, end_offset)

    def end_before(self, end_offset: int) -> int | None:
        """Where the log ended at the start, when the image has to be looked at there on its way to `end_offset`."""
        return self._end_offset if self._ids is None and self._end_offset <= end_offset else None

    def look(self, image: MetadataImage) -> None:
        """The image has come this far."""
        if self._ids is None and image.offset + 1 >= self._end_offset:
            self._ids = frozenset(topic.id for topic in image.topics.values())

"""Encoded Metadata answers, kept until the image changes: all clients ask the same after a change."""

import asyncio
from collections.abc import Awaitable, Callable

from barnabas.core.cluster import MetadataImage
from barnabas.model.limits import METADATA_CACHE_MAX_BYTES

_NAME_BYTES = 64  # what a name in the key of a kept answer weighs beside its letters

# Version, names, with operations of topics and of the cluster, listener, brokers that departed recently.
Key = tuple[int, tuple[str, ...] | None, bool, bool, str, int, frozenset[int]]


class Answers:
    """Encoded answers of one image."""

    def __init__(self) -> None:
        self.image: MetadataImage | None = None
        self.bodies: dict[Key, bytes] = {}
        self.pending: dict[Key, asyncio.Future[bytes]] = {}
        self.size_bytes = 0

    def begin(self, image: MetadataImage) -> None:
        self.image, self.size_bytes = image, 0
        self.bodies.clear()
        self.pending = {}

    def keep(self, key: Key, body: bytes) -> None:
        names = key[1] or ()
        size = len(body) + sum(_NAME_BYTES + len(name) for name in names)
        if self.size_bytes + size <= METADATA_CACHE_MAX_BYTES:
            self.bodies[key] = body
            self.size_bytes += size

    async def shared(self, key: Key, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """A large answer: who asks the same while it is made gets the same."""
        image, begun = self.image, self.pending
        pending = begun.get(key)
        if pending is None:
            pending = begun[key] = asyncio.ensure_future(make())
            pending.add_done_callback(lambda _: begun.pop(key, None))
        body = await asyncio.shield(pending)
        if self.image is image and key not in self.bodies:
            self.keep(key, body)
        return body

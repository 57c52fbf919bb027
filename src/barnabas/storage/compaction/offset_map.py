"""The newest offset of each key, for one pass of the cleaner, in memory with a ceiling.

A key of fewer than 16 bytes stands for itself; a longer one for its 128-bit BLAKE2 digest, so an entry has a bounded
size and no key of one kind can be taken for one of the other. When the map is full the pass ends where it has come
to, and the next one goes on from there.
"""

from hashlib import blake2b

from barnabas.model.limits import CLEANER_MAP_ENTRIES

DIGEST_BYTES = 16


class OffsetMap:
    __slots__ = ("_offsets", "end_offset", "maximum")

    def __init__(self, maximum: int = CLEANER_MAP_ENTRIES) -> None:
        self.maximum = maximum
        self.end_offset = 0  # every record below it was looked at
        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def has_room(self, records: int) -> bool:
        """Whether so many keys more can come; an empty map takes any batch, or a pass would make no progress."""
        return not self._offsets or len(self._offsets) + records <= self.maximum

    def put(self, key: bytes, offset: int) -> None:
        self._offsets[_short(key)] = offset

    def newest(self, key: bytes) -> int:
        """The offset of the newest record with this key, -1 when the map has none."""
        return self._offsets.get(_short(key), -1)


def _short(key: bytes) -> bytes:
    return key if len(key) < DIGEST_BYTES else blake2b(key, digest_size=DIGEST_BYTES).digest()

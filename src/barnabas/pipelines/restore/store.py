"""A key-value store that writes every change to its commit log first, as the owner of some state does.

A change is a record: the key, the new value or nothing (deleted), and four headers. The store is in shards by key;
`seq` counts the changes of a shard, `keys` and `sum` are what the shard holds after this change. So the newest record
of each shard says what all of them together must give, also when compaction has taken away what was overwritten.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from zlib import crc32

from barnabas.pipelines.restore.checksum import Checksum

SHARDS = 3


@dataclass(frozen=True, slots=True)
class Change:
    """One record of the log; `value` is None when the key is deleted."""

    key: bytes
    value: bytes | None
    headers: dict[str, bytes]


@dataclass(slots=True)
class Store:
    shards: int = SHARDS
    state: dict[bytes, bytes] = field(default_factory=dict)
    checksums: dict[int, Checksum] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)

    def put(self, key: bytes, value: bytes) -> Change:
        return self._changed(key, value)

    def delete(self, key: bytes) -> Change:
        return self._changed(key, None)

    @property
    def checksum(self) -> Checksum:
        """Of all shards together."""
        whole = Checksum()
        for each in self.checksums.values():
            whole = whole.with_all(each)
        return whole

    def _changed(self, key: bytes, value: bytes | None) -> Change:
        shard = shard_of(key, self.shards)
        held = self.checksums.get(shard, Checksum())
        before = self.state.pop(key, None)
        if before is not None:
            held = held.dropped(key, before)
        if value is not None:
            held = held.put(key, value)
            self.state[key] = value
        self.checksums[shard] = held
        self.counts[shard] = self.counts.get(shard, 0) + 1
        return Change(key, value, headers_of(shard, self.counts[shard], held))


def shard_of(key: bytes, shards: int) -> int:
    """As librdkafka chooses a partition, so that with as many partitions a shard is a partition."""
    return crc32(key) % shards


def headers_of(shard: int, seq: int, held: Checksum) -> dict[str, bytes]:
    told = {"shard": shard, "seq": seq, "keys": held.keys, "sum": held.text}
    return {name: str(value).encode() for name, value in told.items()}

"""The commit log of any number of stores, with true checksums: what `restore` rebuilds.

100,000 changes are of one store, by the pipeline's own generator: 2,000 accounts, of which a few have most of the
changes, in three shards.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from barnabas.pipelines.framework.records import TOMBSTONE
from barnabas.pipelines.restore import generator
from barnabas.pipelines.restore.checksum import DIGITS, MODULUS, halves
from barnabas.pipelines.restore.store import SHARDS

from .large_log import in_processes, send

STORE_CHANGES = 100_000
DAY_MS = 86_400_000
_SEED = 0xACC0
_GROUP = 20  # stores whose changes are written in turns


@dataclass(frozen=True, slots=True)
class Entry:
    """A change as every store has it; `copy_of` is the place of the change that is sent again here, or -1."""

    key: str
    value: bytes | None
    shard: int
    sent_ms: int
    copy_of: int
    again: bool  # a later one is a copy of this


class _Store:
    """One store's shards while its changes are written."""

    def __init__(self, number: int) -> None:
        self.name, self.number = f"{number:04d}-", number
        self.held: dict[bytes, tuple[int, int]] = {}
        self.shards = [[0, 0, 0, 0] for _ in range(SHARDS)]  # seq, keys, and the two halves of the sum
        self.sent: dict[int, list[tuple[str, bytes]]] = {}

    def headers(self, place: int, entry: Entry, key: bytes) -> list[tuple[str, bytes]]:
        if entry.copy_of >= 0:
            return self.sent[entry.copy_of]
        shard = self.shards[entry.shard]
        shard[0] += 1
        before = self.held.pop(key, None)
        if before is not None:
            shard[1:] = shard[1] - 1, (shard[2] - before[0]) % MODULUS, (shard[3] - before[1]) % MODULUS
        if entry.value is not None:
            now = self.held[key] = halves(key, entry.value)
            shard[1:] = shard[1] + 1, (shard[2] + now[0]) % MODULUS, (shard[3] + now[1]) % MODULUS
        told = [
            ("shard", b"%d" % (self.number * SHARDS + entry.shard)),
            ("seq", b"%d" % shard[0]),
            ("keys", b"%d" % shard[1]),
            ("sum", b"%0*x%0*x" % (DIGITS, shard[2], DIGITS, shard[3])),
        ]
        if entry.again:
            self.sent[place] = told
        return told


def write(bootstrap: str, names: dict[str, str], changes: int, end_ms: int) -> tuple[int, int]:
    """Write so many changes of the day that ends then. Returns how many records they are, and how many accounts there
    are at the end."""
    stores = max(1, round(changes / STORE_CHANGES))
    made = _made(min(changes, STORE_CHANGES), end_ms)
    topic = names[generator.TOPIC]

    def write_stores(client: Any, numbers: range) -> None:
        for first in range(0, len(numbers), _GROUP):
            group = [_Store(number) for number in numbers[first : first + _GROUP]]
            for place, entry in enumerate(made):
                for store in group:
                    key = (store.name + entry.key).encode()
                    send(client, topic, entry.value, key, entry.sent_ms, store.headers(place, entry, key))
                client.poll(0)

    in_processes(bootstrap, write_stores, stores)
    newest = {entry.key: entry.value for entry in made if entry.copy_of < 0}
    return len(made) * stores, sum(value is not None for value in newest.values()) * stores


def _made(changes: int, end_ms: int) -> list[Entry]:
    records = generator.generate(_SEED, end_ms - DAY_MS, changes / (DAY_MS / 1000))
    found: list[Entry] = []
    first: dict[tuple[bytes, bytes], int] = {}
    for place, record in enumerate(islice(records, changes)):
        assert record.key is not None and record.headers is not None
        shard, seq = record.headers["shard"], record.headers["seq"]
        copy_of = first.setdefault((shard, seq), place)
        value = None if record.value is TOMBSTONE else msgspec.json.encode(record.value)
        found.append(Entry(record.key, value, int(shard), record.time_ms, -1 if copy_of == place else copy_of, False))
    twice = {entry.copy_of for entry in found}
    return [
        Entry(entry.key, entry.value, entry.shard, entry.sent_ms, entry.copy_of, place in twice)
        for place, entry in enumerate(found)
    ]

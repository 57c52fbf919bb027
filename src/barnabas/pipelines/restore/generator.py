"""The commit log of a store of customer accounts: many changes to a few of them, now and then one is closed.

The store sends again what it is not sure has arrived, so some changes stand twice in the log, and the second copy may
come after a newer change of the same key.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import msgspec

from barnabas.pipelines.common.disorder import Disorder, iso
from barnabas.pipelines.framework.records import TOMBSTONE, Record
from barnabas.pipelines.restore.store import Store

TOPIC = "account-changes"
DISORDER = Disorder(twice=0.02, late_ms=3_000)

_ACCOUNTS = 2_000
_CLOSED = 0.03
_PLACES = ("Arles", "Berlin", "Cork", "Delft", "Evora", "Faro")


def generate(seed: int, begin_ms: int, rate: float, disorder: Disorder = DISORDER) -> Iterator[Record]:
    """The log; what is sent again comes a little later, in between the others."""
    chance, again = Random(seed), Random(f"{seed} again")
    store, waiting = Store(), list[Record]()
    now = float(begin_ms)
    while True:
        now += chance.expovariate(rate) * 1000
        while waiting and waiting[0].time_ms <= now:
            yield waiting.pop(0)
        record = _change(store, int(now), chance)
        yield record
        if again.random() < disorder.twice:
            later = int(now) + again.randint(1, disorder.late_ms)
            waiting.append(Record(record.topic, record.key, record.value, later, record.headers))
            waiting.sort(key=lambda each: each.time_ms)


def _change(store: Store, now_ms: int, chance: Random) -> Record:
    number = int(_ACCOUNTS * chance.random() ** 3)  # a few accounts have most of the changes
    key = f"account-{number:05d}"
    if key.encode() in store.state and chance.random() < _CLOSED:
        return Record(TOPIC, key, TOMBSTONE, now_ms, store.delete(key.encode()).headers)
    value = {
        "balance_cents": chance.randint(-20_000, 900_000),
        "place": chance.choice(_PLACES),
        "changed": iso(now_ms),
    }
    return Record(TOPIC, key, value, now_ms, store.put(key.encode(), msgspec.json.encode(value)).headers)

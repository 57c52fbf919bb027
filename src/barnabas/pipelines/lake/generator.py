"""Visits of a web shop as raw events: what somebody would want to keep for good and count in other ways next year."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from barnabas.pipelines.common.disorder import Disorder, Happening, as_they_arrive, iso
from barnabas.pipelines.framework.records import Record

TOPIC = "events"
DISORDER = Disorder()

_PAGES = ("/", "/search", "/item", "/item", "/item", "/cart", "/checkout", "/help")
_AGENTS = ("firefox", "chrome", "safari", "app")


def generate(seed: int, begin_ms: int, rate: float, disorder: Disorder = DISORDER) -> Iterator[Record]:
    return as_they_arrive(_visits(seed, begin_ms, rate), disorder, Random(f"{seed} arrivals"))


def _visits(seed: int, begin_ms: int, rate: float) -> Iterator[Happening]:
    chance = Random(seed)
    now, number = float(begin_ms), 0
    while True:
        now += chance.expovariate(rate) * 1000
        number += 1
        member = f"member-{int(5000 * chance.random() ** 2):05d}"
        value = {
            "id": f"{seed:x}-{number:08x}",
            "member": member,
            "page": chance.choice(_PAGES),
            "agent": chance.choice(_AGENTS),
            "time": iso(int(now)),
            "price_cents": chance.randint(99, 49_900),
        }
        yield Happening(int(now), TOPIC, member, value)

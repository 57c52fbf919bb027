"""Requests to the services of a shop, believable enough to look at.

Each service has its own traffic, its own spread of latencies (log-normal, as real ones are) and its own small share of
errors. Now and then a service has a bad half minute: slow, or failing. The load breathes with the hour of the day.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from barnabas.pipelines.common.disorder import Disorder, Happening, as_they_arrive, iso
from barnabas.pipelines.framework.records import Record

TOPIC = "requests"
DISORDER = Disorder(late=0.02, late_ms=9_000, too_late=0.002, twice=0.01)

_DAY_MS = 86_400_000
_BAD_LENGTH_MS = 30_000


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    weight: float
    median_us: int
    spread: float
    errors: float
    paths: tuple[str, ...]


SERVICES = (
    Service("gateway", 10, 9_000, 0.5, 0.001, ("/", "/login", "/search", "/cart")),
    Service("search", 5, 42_000, 0.7, 0.002, ("/query", "/suggest")),
    Service("catalog", 6, 18_000, 0.4, 0.001, ("/item", "/prices")),
    Service("cart", 3, 14_000, 0.5, 0.003, ("/add", "/show")),
    Service("payments", 1, 180_000, 0.6, 0.004, ("/charge", "/refund")),
)


def generate(seed: int, begin_ms: int, rate: float, disorder: Disorder = DISORDER) -> Iterator[Record]:
    return as_they_arrive(_requests(seed, begin_ms, rate), disorder, Random(f"{seed} arrivals"))


def _requests(seed: int, begin_ms: int, rate: float) -> Iterator[Happening]:
    chance = Random(seed)
    weights = [service.weight for service in SERVICES]
    bad, bad_until, next_bad = SERVICES[0], 0.0, begin_ms + chance.uniform(15_000, 60_000)
    slow = True
    now = float(begin_ms)
    number = 0
    while True:
        now += chance.expovariate(rate * _load(now)) * 1000
        if now > next_bad:
            bad, bad_until, slow = chance.choice(SERVICES), now + _BAD_LENGTH_MS, chance.random() < 0.6
            next_bad = bad_until + chance.uniform(30_000, 120_000)
        service = chance.choices(SERVICES, weights)[0]
        latency = service.median_us * math.exp(chance.gauss(0, service.spread))
        errors = service.errors
        if service is bad and now < bad_until:
            latency, errors = (latency * 6, errors * 5) if slow else (latency, 0.3)
        status = chance.choice((500, 502, 503)) if chance.random() < errors else chance.choices((200, 404), (97, 3))[0]
        value = {
            "id": f"{seed:x}-{number:08x}",
            "service": service.name,
            "path": chance.choice(service.paths),
            "time": iso(int(now)),
            "status": status,
            "latency_us": int(latency),
        }
        yield Happening(int(now), TOPIC, service.name, value)
        number += 1


def _load(now_ms: float) -> float:
    """Between 0.6 at night and 1.4 in the evening; 1 on the average."""
    return 1 + 0.4 * math.sin(2 * math.pi * (now_ms / _DAY_MS - 0.5))

"""Readings of the sensors of a small plant, and the plant's own log of what went wrong.

A sensor sways around its level with the hour and with noise. Now and then something happens to one of them: a spike, a
drift away, or a level that jumps. The people of the plant write each such incident down (topic `sensor-incidents`), as
real ones do; the back-test measures alerts against that log. The stream itself never reads it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from barnabas.pipelines.common.disorder import Disorder, Happening, as_they_arrive, iso
from barnabas.pipelines.framework.records import Record

READINGS = "sensor-readings"
INCIDENTS = "sensor-incidents"
DISORDER = Disorder(late=0.02, late_ms=4_500, too_late=0.002, twice=0.02)

SENSORS = 12
_INCIDENT_EVERY_MS = (20_000, 60_000)
_KINDS = ("temperature", "pressure", "vibration")


@dataclass(frozen=True, slots=True)
class Sensor:
    name: str
    unit: str
    level: float
    noise: float
    sway: float


@dataclass(slots=True)
class Trouble:
    """What is wrong with a sensor, and until when."""

    number: int
    kind: str
    begin_ms: float
    end_ms: float
    size: float

    def shift(self, now_ms: float) -> float:
        if not self.begin_ms <= now_ms < self.end_ms:
            return 0.0
        if self.kind == "drift":
            return self.size * (now_ms - self.begin_ms) / (self.end_ms - self.begin_ms)
        return self.size


def sensors(chance: Random) -> list[Sensor]:
    units = {"temperature": ("C", 70.0, 0.4), "pressure": ("kPa", 310.0, 1.5), "vibration": ("mm/s", 4.0, 0.05)}
    found = []
    for number in range(SENSORS):
        kind = _KINDS[number % len(_KINDS)]
        unit, level, noise = units[kind]
        level *= chance.uniform(0.8, 1.2)
        found.append(Sensor(f"press-{number // 3 + 1}/{kind}", unit, level, noise, noise * chance.uniform(0.2, 0.8)))
    return found


def generate(seed: int, begin_ms: int, rate: float, disorder: Disorder = DISORDER) -> Iterator[Record]:
    return as_they_arrive(_readings(seed, begin_ms, rate), disorder, Random(f"{seed} arrivals"))


def _readings(seed: int, begin_ms: int, rate: float) -> Iterator[Happening]:
    """Each sensor reads at its own steady pace; an incident is written down when it is over."""
    chance = Random(seed)
    plant = sensors(chance)
    step = 1000 * len(plant) / rate
    due = [(begin_ms + chance.uniform(0, step), place) for place in range(len(plant))]
    heapq.heapify(due)
    sequence = [0] * len(plant)
    trouble: dict[int, Trouble] = {}
    number, next_trouble = 0, begin_ms + 40_000 + chance.uniform(*_INCIDENT_EVERY_MS)
    while True:
        now, place = heapq.heappop(due)
        heapq.heappush(due, (now + step, place))
        sensor = plant[place]
        if now >= next_trouble and place not in trouble:
            number += 1
            trouble[place] = _trouble(number, now, sensor, chance)
            next_trouble = now + chance.uniform(*_INCIDENT_EVERY_MS)
        value = sensor.level + sensor.sway * math.sin(now / 40_000 + place) + chance.gauss(0, sensor.noise)
        held = trouble.get(place)
        if held is not None:
            value += held.shift(now)
            if now >= held.end_ms:
                yield _written_down(sensor, held, int(now))
                del trouble[place]
        sequence[place] += 1
        yield Happening(int(now), READINGS, sensor.name, _reading(sensor, sequence[place], int(now), value))


def _reading(sensor: Sensor, number: int, now_ms: int, value: float) -> dict[str, object]:
    return {"sensor": sensor.name, "seq": number, "time": iso(now_ms), "value": round(value, 3), "unit": sensor.unit}


def _trouble(number: int, now: float, sensor: Sensor, chance: Random) -> Trouble:
    kind = chance.choice(("spike", "jump", "drift"))
    length = chance.uniform(300, 1_500) if kind == "spike" else chance.uniform(5_000, 15_000)
    size = (
        chance.choice((-1, 1)) * sensor.noise * (chance.uniform(12, 25) if kind == "spike" else chance.uniform(7, 14))
    )
    return Trouble(number, kind, now, now + length, size)


def _written_down(sensor: Sensor, held: Trouble, now_ms: int) -> Happening:
    value = {
        "incident": held.number,
        "sensor": sensor.name,
        "what": held.kind,
        "begin": iso(int(held.begin_ms)),
        "end": iso(int(held.end_ms)),
        "time": iso(now_ms),
    }
    return Happening(now_ms, INCIDENTS, sensor.name, value)

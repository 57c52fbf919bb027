"""Temperatures that are not normal, from topic sensors to topic sensors.alerts.

A sink of the connector sensors-alerts (sensors-alerts.yaml). A value is an anomaly when it is more than LIMIT standard
deviations away from the mean of the last WINDOW normal ones of its sensor.
"""

from __future__ import annotations

import statistics
from collections import deque
from functools import cache

import msgspec

from barnabas import Producer
from barnabas.connect import Delivered

WINDOW, LEAST, LIMIT = 30, 10, 5.0


class Sensor:
    def __init__(self) -> None:
        self._normal: deque[float] = deque(maxlen=WINDOW)
        self._last = 0
        self._alerts: dict[int, float] = {}

    def deviation(self, number: int, celsius: float) -> float | None:
        """Of an anomaly; None: it is normal. What comes again gets the same answer."""
        if number <= self._last:
            return self._alerts.get(number)
        self._last = number
        if len(self._normal) >= LEAST:
            spread = max(statistics.stdev(self._normal), 0.01)
            deviation = (celsius - statistics.fmean(self._normal)) / spread
            if abs(deviation) > LIMIT:
                self._alerts[number] = deviation
                return deviation
        self._normal.append(celsius)
        return None


_sensors: dict[str, Sensor] = {}  # all records of a sensor are in one partition, so one thread has them


def write(records: list[Delivered], options: dict[str, str]) -> None:
    producer, sent = _producer(options["bootstrap"]), []
    for each in records:
        told = each.value
        sensor = _sensors.setdefault(told["sensor"], Sensor())
        deviation = sensor.deviation(told["number"], told["celsius"])
        if deviation is not None:
            alert = msgspec.json.encode({**told, "deviation": round(deviation, 1)})
            sent.append(producer.send("sensors.alerts", alert, told["sensor"].encode()))
    for alert_sent in sent:
        alert_sent.result(30)


@cache
def _producer(bootstrap: str) -> Producer:
    return Producer(bootstrap)

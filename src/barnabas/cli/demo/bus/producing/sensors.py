"""The plant: thermometers that publish by MQTT, and now and then a value that is far off."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import msgspec

from barnabas.cli.common.failure import Failure
from barnabas.cli.demo.bus.producing.maker import Maker

if TYPE_CHECKING:
    from barnabas.cli.demo.bus.servers.mosquitto import Mosquitto

PROBE = "probe"  # of no machine: it tells whether somebody has subscribed
_USUAL = {"boiler": 61.0, "press": 38.5, "pump": 44.0, "oven": 182.0}
_NOISE, _JUMP = 0.4, 9.0
_BEFORE_FIRST, _EVERY = 15, 25  # values of a sensor before its first anomaly, and about so many from one to the next
_ACKNOWLEDGED_S = 20.0


class Sensors(Maker):
    """What it publishes is counted when the broker has acknowledged it."""

    def __init__(self, mosquitto: Mosquitto, rate: float) -> None:
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion

        super().__init__(rate)
        self.anomalies = 0
        self._published = self._acknowledged = self._probes = 0
        self._numbers = dict.fromkeys(_USUAL, 0)
        self._chance = random.Random()
        self._client = Client(CallbackAPIVersion.VERSION2, "plant")
        self._client.on_publish = self._on_publish
        self._client.connect("127.0.0.1", mosquitto.port)
        self._client.loop_start()

    def probe(self) -> None:
        """A broker drops what nobody has subscribed to: one of these that arrives says that the source has."""
        self._probes += 1
        self._publish(PROBE, self._probes, 20.0)

    def finish(self) -> None:
        super().finish()
        until = time.monotonic() + _ACKNOWLEDGED_S
        while self._acknowledged < self._published + self._probes and time.monotonic() < until:
            time.sleep(0.02)

    def close(self) -> None:
        super().close()
        self._client.disconnect()
        self._client.loop_stop()

    def make_one(self) -> None:
        sensor = self._chance.choice(tuple(_USUAL))
        number = self._numbers[sensor] = self._numbers[sensor] + 1
        celsius = _USUAL[sensor] + self._chance.uniform(-_NOISE, _NOISE)
        if number > _BEFORE_FIRST and self._chance.random() < 1 / _EVERY:
            celsius += _JUMP
            self.anomalies += 1
        self._published += 1
        self._publish(sensor, number, round(celsius, 2))

    def _publish(self, sensor: str, number: int, celsius: float) -> None:
        payload = msgspec.json.encode({"sensor": sensor, "number": number, "celsius": celsius})
        told = self._client.publish(f"plant/{sensor}/temperature", payload, qos=1)
        if told.rc != 0:
            raise Failure(f"mosquitto takes nothing any more (code {told.rc})")

    def _on_publish(self, *_: object) -> None:
        self._acknowledged += 1
        self.made = min(self._published, max(0, self._acknowledged - self._probes))

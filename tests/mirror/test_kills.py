"""Workers and nodes are killed while both sides write: nothing is missing, nothing is twice."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from itertools import count

import pytest
from confluent_kafka import Producer

from tests.linked_clusters.pair import create
from tests.mirror.sides import MirrorProcess, Sides, has_values
from tests.support.members import QUIET


class Writer(threading.Thread):
    """Writes until it is told to stop; what was acknowledged is in `values`."""

    def __init__(self, bootstrap: str, name: str) -> None:
        super().__init__(daemon=True)
        self._producer = Producer(
            {
                **QUIET,
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 120_000,
            }
        )
        self._name = name
        self.ending = threading.Event()
        self.values: list[str] = []
        self.failed: list[object] = []

    def run(self) -> None:
        for number in count():
            if self.ending.wait(0.001):
                break
            value = f"{self._name}{number}"

            def told(error: object, _: object, value: str = value) -> None:
                self.failed.append(error) if error is not None else self.values.append(value)

            self._producer.produce("orders", value, key=str(number), on_delivery=told)
            self._producer.poll(0)
        self._producer.flush(120)

    def stop(self) -> list[str]:
        self.ending.set()
        self.join(150)
        assert not self.failed, self.failed[:3]
        return self.values


def _killed_while_written(sides: Sides, kills: Callable[[list[MirrorProcess], random.Random], None]) -> None:
    for bootstrap in (sides.east, sides.west):
        create(bootstrap, "orders", 3)
    mirrors = [sides.mirror("--both", "--topics", "orders") for _ in range(2)]
    writers = [Writer(sides.east, "e"), Writer(sides.west, "w")]
    for each in writers:
        each.start()
    kills(mirrors, random.Random(7))
    time.sleep(1)
    east, west = (each.stop() for each in writers)
    assert len(east) > 500 and len(west) > 500
    has_values(sides.west, "east.orders", east, 60)
    has_values(sides.east, "west.orders", west, 60)


def test_a_worker_and_a_node_of_each_side_are_killed(sides: Sides) -> None:
    def kills(mirrors: list[MirrorProcess], chance: random.Random) -> None:
        time.sleep(3)
        mirrors[0].kill()
        time.sleep(1)
        for node in sides.nodes.values():
            node.kill()
            node.start()
            time.sleep(1)

    _killed_while_written(sides, kills)


@pytest.mark.long
def test_many_kills(sides: Sides) -> None:
    def kills(mirrors: list[MirrorProcess], chance: random.Random) -> None:
        for _ in range(20):
            time.sleep(chance.uniform(0.5, 4))
            victim = chance.choice([*mirrors, *sides.nodes.values()])
            victim.kill()
            time.sleep(chance.uniform(0, 2))
            victim.start()

    _killed_while_written(sides, kills)

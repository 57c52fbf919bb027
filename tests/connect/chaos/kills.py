"""Numbers through a connector while everything on the way is killed, in turn, again and again."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from confluent_kafka import Producer

from tests.support.connect import ConnectWorker, all_records
from tests.support.members import QUIET, until
from tests.support.process import ServerProcess
from tests.support.servers import BarnabasNode

ROUNDS = int(os.environ.get("BARNABAS_ROUNDS", "10"))
DRAINED_S = 180.0


class Numbers(threading.Thread):
    """1, 2, 3 ... to a topic, each acknowledged once, about a thousand a second, until it is stopped."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(daemon=True)
        settings = {**QUIET, "bootstrap.servers": bootstrap, "enable.idempotence": True, "message.timeout.ms": 0}
        self._producer = Producer({**settings, "reconnect.backoff.max.ms": 500})
        self._topic = topic
        self._ending = threading.Event()
        self.sent = 0
        self.refused = 0

    def run(self) -> None:
        while not self._ending.wait(0.02):
            for _ in range(20):
                self.sent += 1
                value = json.dumps({"n": self.sent, "text": f"number {self.sent}"}).encode()
                self._produce(value)
            self._producer.poll(0)

    def _produce(self, value: bytes) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, str(self.sent).encode(), on_delivery=self._told)
                return
            except BufferError:  # the node is not up yet: as many wait as may
                self._producer.poll(0.1)

    def _told(self, error: object, _: object) -> None:
        self.refused += error is not None

    def stop(self) -> int:
        """How many there are."""
        self._ending.set()
        self.join()
        assert self._producer.flush(60) == 0 and not self.refused
        return self.sent


def killed_in_turn(victims: Sequence[ServerProcess], rounds: int, seed: int) -> None:
    """Each of them so many times, in an order and at moments by chance, and started again."""
    chance = random.Random(seed)
    order = [each for each in victims for _ in range(rounds)]
    chance.shuffle(order)
    for victim in order:
        time.sleep(chance.uniform(0.3, 2.5))
        victim.kill()
        time.sleep(chance.uniform(0, 1.0))
        victim.start()


def through_a_sink(
    folder: Path,
    definition: str,
    target: ServerProcess | None,
    found: Callable[[], list[int]],
    rounds: int,
    *,
    once: bool = True,
    drained_s: float = DRAINED_S,
    tell: Callable[[ServerProcess], None] = lambda worker: None,
) -> int:
    """`definition` reads the topic numbers. At the end `found` gives every number, once unless told otherwise. `tell`
    gets the worker before anything is killed. How many numbers there were."""
    node = BarnabasNode(folder / "node")
    file = folder / "sink.yaml"
    file.write_text(definition)
    worker = ConnectWorker(node.bootstrap, folder / "worker.log", file)
    try:
        node.start()
        _make_topic(node.bootstrap, "numbers")
        numbers = Numbers(node.bootstrap, "numbers")
        numbers.start()
        worker.start()
        tell(worker)
        victims: list[ServerProcess] = [node, worker, *([target] if target is not None else [])]
        killed_in_turn(victims, rounds, seed=rounds)
        count = numbers.stop()
        try:
            until(lambda: len(set(found())) >= count, f"all {count} numbers are there", drained_s)
        except AssertionError:
            missing = set(range(1, count + 1)) - set(found())
            raise AssertionError(f"{len(missing)} of {count} missing, {sorted(missing)[:5]}\n{worker.tail()}") from None
        worker.stop()
        _check(found(), count, once, worker)
        return count
    finally:
        worker.stop()
        node.stop()


def through_a_source(
    folder: Path,
    definition: str,
    source: ServerProcess | None,
    begin: Callable[[], None],
    end: Callable[[], int],
    rounds: int,
    *,
    once: bool = True,
) -> int:
    """`definition` writes the topic numbers; `begin` starts to make numbers, `end` stops and says how many."""
    node = BarnabasNode(folder / "node")
    file = folder / "source.yaml"
    file.write_text(definition)
    worker = ConnectWorker(node.bootstrap, folder / "worker.log", file)

    def found() -> list[int]:
        return [json.loads(each.value() or b"")["n"] for each in all_records(node.bootstrap, "numbers")]

    try:
        node.start()
        begin()
        worker.start()
        victims: list[ServerProcess] = [node, worker, *([source] if source is not None else [])]
        killed_in_turn(victims, rounds, seed=rounds)
        count = end()
        try:
            until(lambda: len(set(found())) >= count, f"all {count} numbers are in the topic", DRAINED_S)
        except AssertionError:
            missing = set(range(1, count + 1)) - set(found())
            raise AssertionError(f"{len(missing)} of {count} missing, {sorted(missing)[:5]}\n{worker.tail()}") from None
        time.sleep(1)  # what would come twice has the time to come
        worker.stop()
        _check(found(), count, once, worker)
        return count
    finally:
        worker.stop()
        node.stop()


def _check(numbers: list[int], count: int, once: bool, worker: ServerProcess) -> None:
    """Says which are there twice, or should not be there: a comparison of the lists would take minutes to print."""
    twice = sorted(number for number, times in Counter(numbers).items() if times > 1) if once else []
    others = sorted(set(numbers) ^ set(range(1, count + 1)))
    if twice or others:
        said = f"of {count}: {len(twice)} twice {twice[:5]}, {len(others)} missing or unknown {others[:5]}"
        raise AssertionError(f"{said}\n{worker.tail()}")


def _make_topic(bootstrap: str, topic: str) -> None:
    from barnabas import Admin

    with Admin(bootstrap) as admin:
        admin.create_topic(topic, partitions=3)

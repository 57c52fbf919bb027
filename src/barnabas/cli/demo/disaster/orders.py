"""A shop that writes orders and a group that reads them, on one of two clusters at a time; both keep books."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from barnabas.cli.common import link

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

TOPIC, GROUP, PARTITIONS = "orders", "billing", 3
_FLUSH_S, _CLOSE_S, _LOST_S = 10.0, 15.0, 0.5


class Shop:
    """Numbers its orders. `acknowledged` is what the cluster has confirmed."""

    def __init__(self, bootstrap: str, rate: float, first: int = 0) -> None:
        self.acknowledged: set[int] = set()
        self.next_order = first
        self._rate = rate
        self._ended = threading.Event()
        settings = {"acks": "all", "enable.idempotence": True, "linger.ms": 2, "message.timeout.ms": 5000}
        self._producer = link.producer(bootstrap, settings)
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        begun, first = time.monotonic(), self.next_order
        while not self._ended.is_set():
            due = first + int((time.monotonic() - begun) * self._rate)
            while self.next_order < due:
                number = self.next_order
                key = f"customer-{number % 100}"
                self._producer.produce(TOPIC, str(number), key=key, on_delivery=self._delivered)
                self.next_order += 1
            self._producer.poll(0.01)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acknowledged.add(int(message.value() or b"-1"))

    def close(self, *, is_lost: bool = False) -> None:
        """`is_lost`: its cluster does not answer any more; what was not acknowledged is given up."""
        self._ended.set()
        self._thread.join(5)
        if is_lost:
            self._producer.purge()
        self._producer.flush(_LOST_S if is_lost else _FLUSH_S)


class Billing:
    """Bills each order it reads, in the group of its name. `billed` counts how often."""

    def __init__(self, bootstrap: str) -> None:
        self.billed: dict[int, int] = {}
        self._ended = threading.Event()
        settings = {"group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        self._consumer = link.consumer(bootstrap, settings)
        self._consumer.subscribe([TOPIC])
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._ended.is_set():
            messages = self._consumer.consume(500, 0.1)
            for message in messages:
                if message.error() is None:
                    number = int(message.value() or b"-1")
                    self.billed[number] = self.billed.get(number, 0) + 1
            if messages:
                self._commit()
        self._consumer.close()

    def _commit(self) -> None:
        from confluent_kafka import KafkaException

        try:
            self._consumer.commit(asynchronous=False)
        except KafkaException:
            return  # its cluster is gone: what is not committed is read again

    def close(self, *, is_lost: bool = False) -> None:
        """`is_lost`: nobody answers it any more, so it is not waited for."""
        self._ended.set()
        self._thread.join(_LOST_S if is_lost else _CLOSE_S)

"""The load: writers with several codecs, transactions that are committed and aborted, groups that commit, and topics
that come, grow and go. What was acknowledged is kept, to be looked for at the target."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.crash.load import FAST, Reader, Writer
from tests.linked_clusters.pair import create
from tests.support.members import QUIET, until

ORDERS, EVENTS, PAYMENTS, SHORT, GROWN, BRIEF = "orders", "events", "payments", "short", "grown", "brief"
_SECONDS = 180


class Transactions:
    """Transactions one after another, every third of them aborted. A value is committed, aborted or, where a node was
    lost in between, one of both."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._bootstrap, self._topic, self._partitions = bootstrap, topic, partitions
        self.committed: set[str] = set()
        self.aborted: set[str] = set()
        self.restarts = 0
        self._stop = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _new(self) -> Producer:
        settings = {
            **FAST,
            "bootstrap.servers": self._bootstrap,
            "transactional.id": "chaos",
            "transaction.timeout.ms": 10_000,
            "compression.type": "snappy",
        }
        while True:
            producer = Producer(settings)
            try:
                producer.init_transactions(30)
                return producer
            except KafkaException:
                if self._stop.is_set():
                    raise

    def _run(self) -> None:
        producer = self._new()
        for number in itertools.count():
            if self._stop.is_set():
                return
            values = [f"t{number}-{each}" for each in range(4)]
            try:
                producer.begin_transaction()
                for at, value in enumerate(values):
                    producer.produce(self._topic, value, partition=(number + at) % self._partitions)
                if number % 3 == 2:
                    producer.flush(20)
                    producer.abort_transaction(30)
                    self.aborted.update(values)
                else:
                    producer.commit_transaction(30)
                    self.committed.update(values)
            except (KafkaException, BufferError):  # what became of it is not known; the next producer ends it
                self.restarts += 1
                producer = self._new()
            time.sleep(0.05)

    def finish(self) -> None:
        self._stop.set()
        self.thread.join(90)
        assert not self.thread.is_alive(), "a transaction does not end"


class Plain:
    """Without books: several codecs, acks=1, records of all sizes. What the source keeps of it has to come over."""

    def __init__(self, bootstrap: str, topic: str, per_second: int, **settings: Any) -> None:
        self._topic, self._per_second = topic, per_second
        codecs = ("gzip", "lz4", "none")
        self._producers = [
            Producer({**FAST, "bootstrap.servers": bootstrap, "acks": 1, "compression.type": codec, **settings})
            for codec in codecs
        ]
        self._stop = threading.Event()
        self.sent = 0
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        began = time.monotonic()
        while not self._stop.is_set():
            due = int((time.monotonic() - began) * self._per_second)
            for number in range(self.sent, due):
                value = f"{number} ".encode() * (1 + number % 97)
                with contextlib.suppress(BufferError, KafkaException):
                    self._producers[number % len(self._producers)].produce(
                        self._topic, value, key=str(number % 50), headers={"n": str(number)}
                    )
            self.sent = due
            for producer in self._producers:
                producer.poll(0)
            time.sleep(0.02)

    def finish(self) -> None:
        self._stop.set()
        self.thread.join(10)
        for producer in self._producers:
            assert producer.flush(_SECONDS) == 0


class Load:
    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
        safe = {"min_insync_replicas": "2"}
        small = {"segment_bytes": str(1 << 20)}
        create(bootstrap, ORDERS, 4, 3, **safe, **small)
        create(bootstrap, EVENTS, 3, 3, **small)
        create(bootstrap, PAYMENTS, 3, 3, **safe)
        create(bootstrap, SHORT, 2, 3, segment_ms="2000", retention_ms="6000")
        create(bootstrap, GROWN, 1, 3)
        create(bootstrap, BRIEF, 2, 3)
        patient = {"enable.idempotence": True, "delivery.timeout.ms": _SECONDS * 1000}
        self.orders = Writer(bootstrap, ORDERS, 4, 60, **patient, **{"compression.type": "zstd"})
        self.transactions = Transactions(bootstrap, PAYMENTS, 3)
        self.plain = [Plain(bootstrap, EVENTS, 40), Plain(bootstrap, SHORT, 40), Plain(bootstrap, GROWN, 10)]
        self.readers = [Reader(bootstrap, ORDERS, "billing"), _Values(bootstrap, PAYMENTS, "ledger")]
        self.generations = 0
        self.partitions_grown = 1

    # --- what changes at the source ---------------------------------------------------------------------------------

    def grow(self) -> None:
        if self.partitions_grown < 12:
            self.partitions_grown += 1
            self.admin.create_partitions([NewPartitions(GROWN, self.partitions_grown)])[GROWN].result(_SECONDS)

    def make_anew(self) -> None:
        """The topic is deleted and made again, with other records at the same offsets."""
        self.generations += 1
        self.admin.delete_topics([BRIEF])[BRIEF].result(_SECONDS)
        until(lambda: BRIEF not in self.admin.list_topics(timeout=20).topics, f"{BRIEF} is deleted", _SECONDS)
        create(self.bootstrap, BRIEF, 2, 3)
        self.write_brief()

    def write_brief(self) -> None:
        producer = Producer({**FAST, "bootstrap.servers": self.bootstrap, "message.timeout.ms": _SECONDS * 1000})
        for number in range(50):
            producer.produce(BRIEF, f"generation {self.generations}, {number}", key=str(number))
        assert producer.flush(_SECONDS) == 0

    def finish(self) -> None:
        self.orders.finish(_SECONDS)
        self.transactions.finish()
        for each in self.plain:
            each.finish()
        for reader in self.readers:
            reader.finish()
        assert not self.orders.failed and not self.orders.fatal, (self.orders.failed[:3], self.orders.fatal[:3])


class _Values(Reader):
    """Of records that are no numbers: only the offsets matter."""

    def _run(self) -> None:
        while not self._stop.is_set():
            self.consumer.consume(200, 0.1)
            with contextlib.suppress(KafkaException):
                for part in self.consumer.commit(asynchronous=False) or ():
                    if part.error is None and part.offset >= 0:
                        self.committed[part.partition] = part.offset
        self.consumer.close()

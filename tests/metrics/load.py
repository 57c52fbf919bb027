"""Something of everything on a cluster: records in and out, a group, a transaction every second, errors, clients that
push their own metrics."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaException, Producer

from tests.support.cluster import BarnabasCluster
from tests.support.members import QUIET
from tests.support.wire import GET_TELEMETRY_SUBSCRIPTIONS, INCREMENTAL_ALTER_CONFIGS, Closed, WireClient

TOPIC, GROUP = "orders", "readers"
CLIENT_METRICS = 16


def subscribe_to_clients(bootstrap: str, interval_ms: int = 500) -> None:
    configs = {"metrics": "*", "interval.ms": str(interval_ms)}
    resource = {
        "resource_type": CLIENT_METRICS,
        "resource_name": "dashboard",
        "configs": [{"name": name, "config_operation": 0, "value": value} for name, value in configs.items()],
    }
    with WireClient(bootstrap) as client:
        body = {"resources": [resource], "validate_only": False}
        (answer,) = client.call(INCREMENTAL_ALTER_CONFIGS, 1, body)["responses"]
        assert answer["error_code"] == 0, answer


class Load:
    def __init__(self, cluster: BarnabasCluster, topics: Sequence[str] = (TOPIC,)) -> None:
        self._settings = {**QUIET, "bootstrap.servers": cluster.bootstrap}
        self._topics = topics
        self._stop, self._stop_reading = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=work) for work in (self._write, self._read, self._transact, self._err)]
        self._one = cluster.nodes[1].bootstrap
        for thread in self._threads:
            thread.start()

    def _write(self) -> None:
        producer = Producer({**self._settings, "client.id": "writer", "linger.ms": 5})
        while not self._stop.wait(0.02):
            for topic in self._topics:
                producer.produce(topic, b"x" * 200)
            producer.poll(0)
        producer.flush(5)

    def _read(self) -> None:
        group = {"group.id": GROUP, "auto.offset.reset": "earliest", "auto.commit.interval.ms": 200}
        consumer = Consumer({**self._settings, **group, "client.id": "reader"})
        consumer.subscribe(list(self._topics))
        while not (self._stop.is_set() or self._stop_reading.is_set()):
            consumer.poll(0.1)
        consumer.close()

    def _transact(self) -> None:
        producer = Producer({**self._settings, "client.id": "payer", "transactional.id": "payments"})
        producer.init_transactions(30)
        with contextlib.suppress(KafkaException):  # a test kills nodes
            while not self._stop.wait(0.5):
                producer.begin_transaction()
                producer.produce(self._topics[0], b"paid")
                producer.commit_transaction(30)

    def _err(self) -> None:
        """Asks again before it may, and is told so."""
        with contextlib.suppress(OSError, Closed), WireClient(self._one) as client:
            while not self._stop.wait(0.1):
                client.call(GET_TELEMETRY_SUBSCRIPTIONS, 0, {"client_instance_id": b"too often, again"})

    def stop_reading(self) -> None:
        self._stop_reading.set()
        self._threads[1].join(20)

    def stop(self) -> None:
        """Again: nothing."""
        self._stop.set()
        for thread in self._threads:
            thread.join(40)

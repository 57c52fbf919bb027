"""Consume, transform, produce, exactly once; a process of its own, so that it can be killed at any moment.

    python copier.py BOOTSTRAP SOURCE TARGET ID SEED

Copies each record to the same partition of the target as `number;which process.which transaction;outcome`, some dozens
in a transaction, with the offsets they came from. Now and then a transaction is aborted on purpose, and its records say
so: nobody may ever read them. Runs until it is killed; leaves with 3 when another process has taken its id.
"""

from __future__ import annotations

import os
import random
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

PARTITIONS = 2
QUICK = {
    "log_level": 0,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 20,
    # librdkafka 2.16 forgets its brokers when all are away, but not that one of them coordinates the group: then
    # send_offsets_to_transaction waits for a broker that is gone
    "metadata.recovery.strategy": "none",
}
PATIENCE_SECONDS = 20
FENCED = 3


class Copier:
    def __init__(self, bootstrap: str, source: str, target: str, name: str, seed: int) -> None:
        self.source, self.target, self.rng = source, target, random.Random(seed)
        servers = {**QUICK, "bootstrap.servers": bootstrap}
        self.producer = Producer({**servers, "transactional.id": name, "linger.ms": 1, "message.timeout.ms": 30_000})
        self.consumer = Consumer(
            {**servers, "group.id": name, "isolation.level": "read_committed", "enable.auto.commit": False,
             "fetch.wait.max.ms": 50, "auto.offset.reset": "earliest"}
        )  # fmt: skip
        self.transactions = 0

    def run(self) -> None:
        self.patiently(self.producer.init_transactions)  # ends what an earlier process has left open
        self.go_back()
        while True:
            messages = [m for m in self.consumer.consume(self.rng.randrange(10, 80), 0.2) if not m.error()]
            if messages:
                self.copy(messages)

    def copy(self, messages: list) -> None:  # type: ignore[type-arg]
        self.transactions += 1
        commit = self.rng.random() > 0.25
        word = "commit" if commit else "abort"
        self.producer.begin_transaction()
        try:
            for message in messages:
                value = f"{message.value().decode()};{os.getpid()}.{self.transactions};{word}"
                self.producer.produce(self.target, value.encode(), partition=message.partition())
                self.producer.poll(self.rng.uniform(0, 0.003))  # takes its time, so that kills find transactions open
            after: dict[int, int] = {}
            for message in messages:
                after[message.partition()] = message.offset() + 1
            offsets = [TopicPartition(self.source, part, offset) for part, offset in after.items()]
            metadata = self.consumer.consumer_group_metadata()
            self.patiently(lambda left: self.producer.send_offsets_to_transaction(offsets, metadata, left))
            if commit:
                self.patiently(self.producer.commit_transaction)
                return
            self.producer.flush(PATIENCE_SECONDS)
        except KafkaException as problem:
            if not problem.args[0].txn_requires_abort():
                raise
        self.patiently(self.producer.abort_transaction)
        self.go_back()

    def go_back(self) -> None:
        """To where the last transaction that was committed stopped."""
        parts = [TopicPartition(self.source, part) for part in range(PARTITIONS)]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                found = self.consumer.committed(parts, timeout=2)
                break
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
        self.consumer.assign([TopicPartition(p.topic, p.partition, max(p.offset, 0)) for p in found])

    @staticmethod
    def patiently(do) -> None:  # type: ignore[no-untyped-def]
        """Again while it says that it may be tried again: the node is away for a moment."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                do(5)
                return
            except KafkaException as problem:
                error = problem.args[0]
                if error.fatal():
                    os._exit(FENCED)
                if not error.retriable() or time.monotonic() > deadline:
                    raise


if __name__ == "__main__":
    bootstrap, source, target, name, seed = sys.argv[1:6]
    Copier(bootstrap, source, target, name, int(seed)).run()

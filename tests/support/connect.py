"""`barnabas connect` as a child process, and the definitions that it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from tests.support.members import QUIET
from tests.support.paths import ROOT
from tests.support.process import ServerProcess

ENVIRONMENT = {"PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"}


class ConnectWorker(ServerProcess):
    """`barnabas connect run FILE`, or `connect worker` without one."""

    def __init__(self, bootstrap: str, log: Path, *files: Path, **environment: str) -> None:
        words = ["run", *map(str, files)] if files else ["worker"]
        command = [sys.executable, "-m", "barnabas.cli.main", "connect", *words, "-b", bootstrap]
        super().__init__(command, 0, log, {**ENVIRONMENT, "BARNABAS_LOG_LEVEL": "info", **environment})

    def start(self, timeout_seconds: float = 30) -> float:
        """Until it says that it runs. Seconds."""
        began = time.monotonic()
        before = self.log_path.stat().st_size if self.log_path.exists() else 0
        self.launch()
        while b", as worker " not in self.log_path.read_bytes()[before:]:
            assert self.process is not None
            if self.process.poll() is not None or time.monotonic() - began > timeout_seconds:
                raise RuntimeError(f"the worker does not run:\n{self.tail()}")
            time.sleep(0.02)
        return time.monotonic() - began


@contextmanager
def running(*workers: ConnectWorker) -> Iterator[None]:
    try:
        for each in workers:
            each.start()
        yield
    finally:
        for each in workers:
            each.stop()


def written(path: Path, text: str) -> Path:
    """A definition or a function, with the indentation of the test taken off."""
    path.write_text(textwrap.dedent(text))
    return path


def connect(bootstrap: str, *words: str, code: int = 0) -> str:
    """What a command prints; stderr too when it is to fail."""
    command = [sys.executable, "-m", "barnabas.cli.main", "connect", *words]
    if words[0] not in ("check", "kinds", "new"):
        command += ["-b", bootstrap]
    done = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, timeout=90)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + (done.stderr if code else "")


def all_records(bootstrap: str, topic: str) -> list[Message]:
    """Everything committed in a topic up to the end that it has now, in order within each partition, and perhaps
    records behind it. (librdkafka says PARTITION_EOF after a fetch that found nothing: never, while a connector goes on
    writing to the topic.)"""
    consumer = Consumer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": "test-reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    found: list[Message] = []
    try:
        known = consumer.list_topics(topic, timeout=10).topics[topic]
        if known.error is not None:
            return []
        ends = {each: _committed_end(consumer, topic, each) for each in known.partitions}
        waiting = set(ends)
        consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in waiting])
        deadline = time.monotonic() + 60
        while waiting and time.monotonic() < deadline:
            first = consumer.poll(0.5)  # consume() would wait for all 10,000 until its time is over
            for message in [] if first is None else [first, *consumer.consume(10_000, timeout=0)]:
                partition, offset, error = message.partition(), message.offset(), message.error()
                if error is not None:
                    if error.code() == KafkaError._PARTITION_EOF:
                        waiting.discard(partition)
                    continue
                assert partition is not None and offset is not None
                found.append(message)
                if offset + 1 >= ends[partition]:
                    waiting.discard(partition)
        assert not waiting, f"{topic} has no end in 60 s"
    finally:
        consumer.close()
    return found


def _committed_end(consumer: Consumer, topic: str, partition: int) -> int:
    """The last stable offset, since the consumer reads what is committed."""
    bounds = consumer.get_watermark_offsets(TopicPartition(topic, partition), 10)
    assert bounds is not None, f"{topic}-{partition} has no leader"
    return bounds[1]


def size_of(bootstrap: str, topic: str) -> int:
    """Offsets in all partitions of a topic, markers of transactions included; 0 when there is none yet."""
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "test-size"})
    try:
        known = consumer.list_topics(timeout=10).topics
        if topic not in known:
            return 0
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, each), 10) for each in known[topic].partitions]
        return sum(each[1] for each in ends if each is not None)
    finally:
        consumer.close()

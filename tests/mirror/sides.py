"""Two clusters, the process that mirrors between them, and what is asked of both."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError
from confluent_kafka.admin import AdminClient

from tests.linked_clusters.conftest import FAST
from tests.support.connect import ENVIRONMENT, all_records
from tests.support.members import QUIET, until
from tests.support.process import ServerProcess
from tests.support.servers import BarnabasNode


class MirrorProcess(ServerProcess):
    """`barnabas mirror run WORDS`."""

    def __init__(self, log: Path, *words: str) -> None:
        command = [sys.executable, "-m", "barnabas.cli.main", "mirror", "run", *words]
        super().__init__(command, 0, log, {**ENVIRONMENT, "BARNABAS_LOG_LEVEL": "info"})

    def start(self, timeout_seconds: float = 30) -> float:
        """Until its first worker runs. Seconds."""
        began = time.monotonic()
        before = self.log_path.stat().st_size if self.log_path.exists() else 0
        self.launch()
        while b", as worker " not in self.log_path.read_bytes()[before:]:
            assert self.alive() and time.monotonic() - began < timeout_seconds, self.tail()
            time.sleep(0.02)
        return time.monotonic() - began


class Sides:
    """east and west, a node each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = {name: BarnabasNode(folder / name, FAST) for name in ("east", "west")}
        self._mirrors: list[MirrorProcess] = []

    def start(self) -> None:
        for node in self.nodes.values():
            node.start()

    @property
    def east(self) -> str:
        return self.nodes["east"].bootstrap

    @property
    def west(self) -> str:
        return self.nodes["west"].bootstrap

    @property
    def words(self) -> list[str]:
        return [f"{name}={node.bootstrap}" for name, node in self.nodes.items()]

    def mirror(self, *more: str) -> MirrorProcess:
        made = MirrorProcess(self.folder / f"mirror-{len(self._mirrors)}.log", *self.words, *more)
        self._mirrors.append(made)
        made.start()
        return made

    def stop(self) -> None:
        for each in (*self._mirrors, *self.nodes.values()):
            each.stop()

    def status(self, source: str) -> Any:
        """Of the flow out of this one."""
        words = self.words if source == "east" else self.words[::-1]
        return status_of(words)[0]


def status_of(words: Sequence[str]) -> list[Any]:
    """Whatever it exits with."""
    done = subprocess.run(
        [sys.executable, "-m", "barnabas.cli.main", "mirror", "status", *words, "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def topics_of(bootstrap: str) -> set[str]:
    known = AdminClient({**QUIET, "bootstrap.servers": bootstrap}).list_topics(timeout=10).topics
    return {name for name in known if not name.startswith("__")}


def values_of(bootstrap: str, topic: str) -> list[str]:
    """Everything committed, sorted."""
    return sorted((message.value() or b"").decode() for message in all_records(bootstrap, topic))


def has_values(bootstrap: str, topic: str, wanted: Sequence[str], seconds: float = 30) -> None:
    """Until the topic has these, each once; what is twice or was never written fails at once."""
    expected = Counter(wanted)

    def there() -> bool:
        if topic not in topics_of(bootstrap):
            return False
        found = Counter(values_of(bootstrap, topic))
        assert not found - expected, f"too many in {topic}: {list((found - expected).items())[:5]}"
        return found == expected

    until(there, f"{topic} at {bootstrap} has {len(wanted)} records", seconds)


def read_on(bootstrap: str, group: str, topics: Sequence[str], quiet_s: float = 1.0, most: int = 0) -> list[str]:
    """What a group is given from where it stands: until nothing more comes, or `most`; its offsets are committed."""
    consumer = Consumer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe(list(topics))
    found: list[str] = []
    last, began = 0.0, time.monotonic()
    while not most or len(found) < most:
        message = consumer.poll(0.1)
        now = time.monotonic()
        if message is None:
            if (last and now - last > quiet_s) or now - began > 30:
                break
            continue
        error = message.error()
        last = now
        if error is None:
            found.append((message.value() or b"").decode())
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
    consumer.commit(asynchronous=False)
    consumer.close()
    return found

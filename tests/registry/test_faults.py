"""Instances and nodes die under clients that register: nothing acknowledged is lost, no id is given twice, and all
instances say the same."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from tests.conftest import FAST_GROUPS
from tests.support.cluster import BarnabasCluster
from tests.support.members import until
from tests.support.registry import RegistryProcess

CLIENTS = 20
ROUNDS = 5
SUBJECTS = 8


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[BarnabasCluster]:
    running = BarnabasCluster(tmp_path / "cluster", 3, FAST_GROUPS)
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture
def instances(cluster: BarnabasCluster, tmp_path: Path) -> Iterator[list[RegistryProcess]]:
    made = [RegistryProcess(tmp_path / f"registry-{each}", cluster.bootstrap) for each in range(3)]
    try:
        for each in made:
            each.start()
        yield made
    finally:
        for each in made:
            each.stop()


def schema(client: int, number: int) -> str:
    return f'{{"type":"record","name":"C{client}N{number}","fields":[]}}'


class Registering(threading.Thread):
    """One client: its own schemas, under subjects that others write as well. An error may or may not have been carried
    out, so the same schema is registered again."""

    def __init__(self, number: int, addresses: list[str], done: threading.Event) -> None:
        super().__init__(daemon=True)
        self.number = number
        self.done = done
        self.acknowledged: list[tuple[str, str, int]] = []
        self.errors = 0
        order = random.Random(number).sample(addresses, len(addresses))
        self._clients = [
            SchemaRegistryClient({"url": each, "timeout": 10, "max.retries": 0, "cache.capacity": 1}) for each in order
        ]

    def run(self) -> None:
        sent = 0
        while not self.done.is_set():
            subject, text = f"faults-{sent % SUBJECTS}", schema(self.number, sent)
            for client in self._clients:
                try:
                    id = client.register_schema(subject, Schema(text, "AVRO"))
                except Exception:  # whatever httpx says about a process that is gone
                    self.errors += 1
                    continue
                self.acknowledged.append((subject, text, id))
                sent += 1
                break
            else:
                time.sleep(0.1)


def kill(instance: RegistryProcess) -> None:
    assert instance.process is not None
    instance.process.send_signal(signal.SIGKILL)
    instance.process.wait()


def test_kill_instances_and_nodes(cluster: BarnabasCluster, instances: list[RegistryProcess]) -> None:
    assert instances[0].ask("PUT", "/config", {"compatibility": "NONE"})[0] == 200
    done = threading.Event()
    clients = [Registering(each, [one.address for one in instances], done) for each in range(CLIENTS)]
    for client in clients:
        client.start()
    rng = random.Random(16)
    for round in range(ROUNDS):
        before = sum(len(each.acknowledged) for each in clients)
        until(lambda: sum(len(each.acknowledged) for each in clients) > before + 20, "registrations", 60)  # noqa: B023
        instance = instances[rng.randrange(len(instances))]
        kill(instance)
        if round % 2:
            number = rng.choice([1, 2, 3])
            cluster.nodes[number].kill()
            time.sleep(0.5)
            cluster.nodes[number].start()
        instance.start()
    done.set()
    for client in clients:
        client.join(60)
    check(instances, clients)


def check(instances: list[RegistryProcess], clients: list[Registering]) -> None:
    acknowledged = [each for client in clients for each in client.acknowledged]
    assert len(acknowledged) > 20 * ROUNDS
    tables = [everything(each) for each in instances]
    assert tables[0] == tables[1] == tables[2]
    stored = tables[0]
    by_id: dict[int, set[str]] = {}
    for versions in stored.values():
        assert sorted(versions) == list(range(1, len(versions) + 1))  # dense
        for id, text in versions.values():
            by_id.setdefault(id, set()).add(text)
    assert all(len(texts) == 1 for texts in by_id.values())
    known = {(subject, text): id for subject, versions in stored.items() for id, text in versions.values()}
    missing = [each for each in acknowledged if known.get(each[:2]) != each[2]]
    assert missing == []


def everything(instance: RegistryProcess) -> dict[str, dict[int, tuple[int, str]]]:
    found: dict[str, dict[int, tuple[int, str]]] = {}
    for number in range(SUBJECTS):
        subject = f"faults-{number}"
        offset = 0
        while True:
            page: list[dict[str, Any]] = instance.ask("GET", f"/schemas?subjectPrefix={subject}&offset={offset}")[1]
            for each in page:
                found.setdefault(subject, {})[each["version"]] = each["id"], each["schema"]
            offset += len(page)
            if not page:
                break
    return found

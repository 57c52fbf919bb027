"""Copy ten thousand records in transactions while the node is killed with -9 ten times and the client ten times, some
transactions aborted on purpose: the output is the input, once, in order, and a reader beside it all never sees more."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from tests.support.figures import Figure
from tests.support.members import until, write
from tests.support.paths import ROOT
from tests.support.servers import BarnabasNode
from tests.support.wire import DESCRIBE_PRODUCERS, WireClient
from tests.transactions.conftest import IS_KAFKA, SETTINGS, make_topic
from tests.transactions.copier import PARTITIONS
from tests.transactions.readers import Beside, consumer, records
from tests.transactions.requests import RawProducer, await_coordinators, ends

pytestmark = [pytest.mark.timeout(600), pytest.mark.skipif(IS_KAFKA, reason="kills the node under test")]
RECORDS = int(os.environ.get("BARNABAS_COPY", "10000"))
KILLS = max(10, RECORDS // 1000)  # of the node, and as many of the client
SCRIPT = Path(__file__).with_name("copier.py")


class Client:
    """The copier, started again when it was killed or has left by itself."""

    def __init__(self, bootstrap: str, log: Path) -> None:
        self.bootstrap, self.log, self.starts = bootstrap, log, 0
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.starts += 1
        command = [sys.executable, str(SCRIPT), self.bootstrap, "source", "target", "copy", str(self.starts)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT)

    def see_to_it(self) -> None:
        if self.process is None or self.process.poll() is not None:
            self.start()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(20)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[BarnabasNode]:
    server = BarnabasNode(tmp_path, SETTINGS)
    try:
        server.start()
        with WireClient(server.bootstrap) as client:
            await_coordinators(client)
        yield server
    finally:
        server.kill()


def test_copy_under_fire(
    node: BarnabasNode, tmp_path: Path, figure: Figure, capsys: pytest.CaptureFixture[str]
) -> None:
    make_topic(node.bootstrap, "source", PARTITIONS)
    make_topic(node.bootstrap, "target", PARTITIONS, segment_bytes=str(1 << 20))
    rng = random.Random(RECORDS)
    beside = Beside(node.bootstrap, "target", PARTITIONS)
    client = Client(node.bootstrap, tmp_path / "copier.log")
    began, written = time.monotonic(), 0
    faults: list[Callable[[], None]] = [node.kill] * KILLS + [client.kill] * KILLS
    rng.shuffle(faults)
    try:
        for number, fault in enumerate(faults, 1):
            upto = RECORDS * number // len(faults)
            write(node.bootstrap, "source", [b"%d" % n for n in range(written, upto)], PARTITIONS)
            written = upto
            seen = len(beside.seen)
            client.see_to_it()
            wait_for(client, lambda: len(beside.seen) > seen, f"the copy goes on after {number - 1} kills")  # noqa: B023
            time.sleep(rng.uniform(0, 0.3))
            fault()
            if not node.alive():
                node.start()
            check_seen(beside)
        wait_for(client, lambda: len(beside.seen) >= RECORDS, "everything is copied")
        wait_for(client, lambda: committed(node.bootstrap) == [RECORDS // 2] * 2, "the offsets stand at the end")
    finally:
        client.kill()
    took = time.monotonic() - began
    beside.stop()
    final = records(node.bootstrap, "target", partitions=PARTITIONS)
    for part in range(PARTITIONS):
        numbers = [int(value.split(b";")[0]) for (p, _), value in sorted(final.items()) if p == part]
        assert numbers == list(range(part, RECORDS, PARTITIONS)), f"partition {part} is not the input, once, in order"
    assert beside.seen == final, "the reader beside saw something else than what is there"
    everything = records(node.bootstrap, "target", "read_uncommitted", PARTITIONS)
    dropped = [value for place, value in everything.items() if place not in final]
    on_purpose = [value for value in dropped if value.endswith(b";abort")]
    assert on_purpose, "no transaction was aborted on purpose"
    assert len(dropped) > len(on_purpose), "no kill found a transaction open"
    assert not [value for value in final.values() if value.endswith(b";abort")]
    check_nothing_hangs(node)
    figure("copy", records=RECORDS, on_purpose=len(on_purpose), by_kills=len(dropped) - len(on_purpose))
    with capsys.disabled():
        print(
            f"\ncopied {RECORDS} records in {took:.0f} s; the node killed {KILLS} times, the client {KILLS} times "
            f"(started {client.starts} times); {len(on_purpose)} records aborted on purpose, "
            f"{len(dropped) - len(on_purpose)} by kills; 0 lost, 0 twice, 0 out of order"
        )


def wait_for(client: Client, condition: Callable[[], bool], what: str) -> None:
    """A copier that has given up is started again, as whoever runs such a program would."""

    def met() -> bool:
        client.see_to_it()
        return condition()

    until(met, f"{what}\n{client.log.read_text()[-2000:] if client.log.exists() else ''}", 60)


def check_seen(beside: Beside) -> None:
    assert not beside.wrong, beside.wrong[:3]
    bad = [value for value in beside.values() if not value.endswith(b";commit")]
    assert not bad, f"records of an aborted transaction were read: {bad[:3]}"
    seen = [value.split(b";")[0] for value in dict(beside.seen).values()]
    assert len(seen) == len(set(seen)), "a record was read twice"


def committed(bootstrap: str) -> list[int]:
    reader = consumer(bootstrap, **{"group.id": "copy"})
    found = reader.committed([TopicPartition("source", part) for part in range(PARTITIONS)], timeout=20)
    reader.close()
    return [part.offset for part in found]


def check_nothing_hangs(node: BarnabasNode) -> None:
    """S6: with the client gone for good, its last transaction is ended by whoever takes its id, and nothing is open."""
    with WireClient(node.bootstrap) as wire:
        RawProducer(wire, "copy").init()
        for part in range(PARTITIONS):
            stable, end = ends(wire, "target", part)
            assert stable == end
        body = {"topics": [{"name": "target", "partition_indexes": list(range(PARTITIONS))}]}
        for found in wire.call(DESCRIBE_PRODUCERS, 0, body)["topics"][0]["partitions"]:
            assert all(producer["current_txn_start_offset"] == -1 for producer in found["active_producers"])

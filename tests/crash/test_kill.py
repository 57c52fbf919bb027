"""kill -9 under load, twenty times: every acknowledged record is there, in order, once; committed offsets never go
back."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.crash.load import Reader, Writer, check_books, place_and_value, read_all
from tests.support.figures import Figure
from tests.support.members import QUIET, until, write
from tests.support.servers import BarnabasNode
from tests.support.wire import LIST_OFFSETS, WireClient, batch

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("crash")]
KILLS = int(os.environ.get("BARNABAS_KILLS", "20"))
PARTITIONS = 3


@pytest.fixture
def node(tmp_path: Path) -> Iterator[BarnabasNode]:
    server = BarnabasNode(tmp_path, {"group.initial.rebalance.delay.ms": "0"})
    try:
        server.start()
        yield server
    finally:
        server.kill()


def create(node: BarnabasNode, *names: str, **config: str) -> None:
    admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
    settings = {key.replace("_", "."): value for key, value in config.items()}
    for future in admin.create_topics([NewTopic(name, PARTITIONS, 1, config=settings) for name in names]).values():
        future.result(20)


def committed(node: BarnabasNode, group: str, topic: str) -> dict[int, int]:
    consumer = Consumer({**QUIET, "bootstrap.servers": node.bootstrap, "group.id": group})
    found = consumer.committed([TopicPartition(topic, p) for p in range(PARTITIONS)], timeout=20)
    consumer.close()
    return {p.partition: p.offset for p in found}


def test_kill_under_load(node: BarnabasNode, figure: Figure, capsys: pytest.CaptureFixture[str]) -> None:
    create(node, "idempotent", "plain", segment_bytes=str(1 << 20))
    rng = random.Random(20)
    idempotent = Writer(
        node.bootstrap, "idempotent", PARTITIONS, 2000, **{"enable.idempotence": True, "message.timeout.ms": 120_000}
    )
    plain = Writer(node.bootstrap, "plain", PARTITIONS, 1000, **{"retries": 0, "message.timeout.ms": 5000})
    reader = Reader(node.bootstrap, "idempotent", "readers")
    starts = []
    for kill in range(KILLS):
        before = len(idempotent.acked)
        time.sleep(rng.uniform(0.1, 0.6))
        until(lambda: len(idempotent.acked) > before, f"writing goes on after {kill} kills", 30)  # noqa: B023
        node.kill()
        was = dict(reader.committed)
        starts.append(node.start())
        now = committed(node, "readers", "idempotent")
        assert all(now[p] >= offset for p, offset in was.items()), f"committed offsets went back: {was} -> {now}"
    idempotent.finish()
    plain.finish()
    assert not idempotent.fatal
    assert not idempotent.failed, idempotent.failed[:3]
    found = read_all(node.bootstrap, "idempotent", PARTITIONS)
    check_books(idempotent, found, idempotent=True)
    check_books(plain, read_all(node.bootstrap, "plain", PARTITIONS), idempotent=False)
    until(
        lambda: all({o for o, _ in reader.seen.get(p, ())} >= {o for o, _ in records} for p, records in found.items()),
        "the group has read all",
        30,
    )
    reader.finish()
    by_place = {(p, o): v for p, records in found.items() for o, v in records}
    assert all(by_place[p, o] == v for p, records in reader.seen.items() for o, v in records), (
        "a reader saw what is not there"
    )
    acknowledged, median = len(idempotent.acked) + len(plain.acked), sorted(starts)[len(starts) // 2]
    figure("kills", kills=KILLS, acknowledged=acknowledged, start_median_s=median, start_worst_s=max(starts))
    with capsys.disabled():
        print(
            f"\n{KILLS} kills: {acknowledged} acknowledged records, 0 lost, 0 twice; "
            f"start p50 {median:.2f} s, worst {max(starts):.2f} s"
        )


def test_a_clean_stop_under_load(node: BarnabasNode) -> None:
    """SIGTERM: exit 0, nothing lost, and the next start finds a clean folder."""
    create(node, "idempotent")
    writer = Writer(
        node.bootstrap, "idempotent", PARTITIONS, 2000, **{"enable.idempotence": True, "message.timeout.ms": 60_000}
    )
    for _ in range(3):
        time.sleep(0.5)
        assert node.stop() == 0, node.tail()
        assert (node.data / ".kafka_cleanshutdown").exists()
        node.start()
        assert not (node.data / ".kafka_cleanshutdown").exists(), (
            "the mark of a clean stop must not outlive the next start"
        )
    writer.finish()
    check_books(writer, read_all(node.bootstrap, "idempotent", PARTITIONS), idempotent=True)


@pytest.mark.parametrize("damage", ["half a batch", "a wrong checksum", "zeros", "rubbish"])
def test_a_torn_tail_is_cut(node: BarnabasNode, damage: str) -> None:
    create(node, "torn")
    write(node.bootstrap, "torn", [b"%d" % i for i in range(30)], PARTITIONS, **{"batch.num.messages": 1})
    node.kill()
    whole = batch([b"never acknowledged"], base_offset=10, leader_epoch=0)
    tail = {
        "half a batch": whole[: len(whole) // 2],
        "a wrong checksum": batch([b"never acknowledged"], base_offset=10, leader_epoch=0, bad_crc=True),
        "zeros": bytes(500),
        "rubbish": bytes(range(256)) * 3,
    }[damage]
    log = node.data / "torn-0" / "00000000000000000000.log"
    size = log.stat().st_size
    with log.open("ab") as file:
        file.write(tail)
    node.start()
    with WireClient(node.bootstrap) as client:
        body = {"replica_id": -1, "topics": [{"name": "torn", "partitions": [{"partition_index": 0, "timestamp": -1}]}]}
        assert client.call(LIST_OFFSETS, 5, body)["topics"][0]["partitions"][0]["offset"] == 10
    assert log.stat().st_size == size  # a log is opened when it is first used
    write(node.bootstrap, "torn", [b"%d" % (30 + i) for i in range(30)], PARTITIONS)
    found = read_all(node.bootstrap, "torn", PARTITIONS)
    assert [v for _, v in found[0]] == list(range(0, 60, 3))


def test_a_bad_batch_in_the_middle_is_never_served(node: BarnabasNode) -> None:
    """A bit flips on disk while the node is down: the node reports file and position, and no reader gets the bytes."""
    create(node, "flipped")
    write(node.bootstrap, "flipped", [b"%d" % i for i in range(300)], PARTITIONS, **{"batch.num.messages": 1})
    assert node.stop() == 0
    log = node.data / "flipped-0" / "00000000000000000000.log"
    data = bytearray(log.read_bytes())
    spot = len(data) // 2
    data[spot] ^= 0x10
    log.write_bytes(data)
    node.start()
    consumer = Consumer(
        {**QUIET, "bootstrap.servers": node.bootstrap, "group.id": "x", "enable.auto.commit": False, "check.crcs": True}
    )
    consumer.assign([TopicPartition("flipped", 0, 0)])
    good: list[tuple[int, bytes]] = []
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and len(good) < 100:
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            good.append(place_and_value(message)[1:])
    consumer.close()
    assert all(value == b"%d" % (offset * 3) for offset, value in good), "damaged bytes were served"
    assert len(good) < 100, "the damaged record was served"
    assert "flipped-0" in node.tail(2000), "the damage is not reported"
    write(node.bootstrap, "flipped", [b"more"] * PARTITIONS, PARTITIONS)

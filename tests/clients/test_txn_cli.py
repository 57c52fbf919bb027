"""`barnabas txn` against a server: what is open, where, who wrote it; ending it by its name or by its place."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas import Consumer, Fenced, Producer, Transaction
from barnabas.testing import RunningNode, running_node
from tests.clients.test_cli import Run, listed, run
from tests.support.wire import batch

__all__ = ["run"]

WAIT_S = 30.0
TRANSACTIONAL = 0x10
LONG_AGO_MS = 3_600_000


@pytest.fixture
def opened(bootstrap: str, topic: str) -> Iterator[tuple[Producer, Transaction]]:
    """A transaction with one record in each of two topics, under the id that the topic is named."""
    producer = Producer(bootstrap, transactional_id=topic)
    transaction = producer.transaction()
    transaction.begin()
    producer.send(topic, "one").result(WAIT_S)
    producer.send(f"{topic}-2", "two").result(WAIT_S)
    yield producer, transaction
    producer.close()


def row(run: Run, name: str, *words: str) -> dict[str, Any] | None:
    rows = [each for each in listed(run, "txn", "list", *words) if each["transactional_id"] == name]
    return rows[0] if rows else None


def test_the_life_of_a_transaction(run: Run, topic: str, opened: tuple[Producer, Transaction]) -> None:
    _, transaction = opened
    shown = row(run, topic)
    assert shown is not None and shown["state"] == "Ongoing" and 0 <= shown["age_seconds"] < WAIT_S
    assert row(run, topic, "--state", "CompleteCommit") is None
    assert row(run, topic, "--state", "Ongoing", "--pattern", f"{topic[:8]}.*") is not None
    assert row(run, topic, "--longer-than", "1h") is None
    line = next(each for each in run("txn", "list").stdout.splitlines() if each.startswith(f"{topic} "))
    assert line.split()[:4] == [topic, str(shown["coordinator"]), str(shown["producer_id"]), "Ongoing"]

    described = listed(run, "txn", "describe", topic)
    assert described["partitions"] == [{"topic": topic, "partition": 0}, {"topic": f"{topic}-2", "partition": 0}]
    assert described["timeout_ms"] == 60_000 and described["producer_id"] == shown["producer_id"]
    said = run("txn", "describe", topic).stdout
    assert "Ongoing" in said and "1 min" in said and f"{topic}-2" in said

    (writer,) = listed(run, "txn", "producers", topic)
    assert writer["producer_id"] == shown["producer_id"] and writer["start_offset"] == 0
    assert "open since offset" in run("txn", "producers", topic, "--partition", "0").stdout

    transaction.commit()
    assert listed(run, "txn", "describe", topic)["partitions"] == []
    finished = row(run, topic)
    assert finished is not None and finished["state"] == "CompleteCommit" and finished["age_seconds"] is None
    (writer,) = listed(run, "txn", "producers", topic)
    assert writer["start_offset"] is None


def test_ending_a_transaction_by_its_name(
    run: Run, bootstrap: str, topic: str, opened: tuple[Producer, Transaction]
) -> None:
    producer, transaction = opened
    with Producer(bootstrap) as other:
        other.send(topic, "behind it")
    said = run("txn", "abort", topic, code=2).stderr
    assert "in 2 partitions" in said and "--yes" in said
    assert "aborted" in run("txn", "abort", topic, "--yes").stdout
    with Consumer(topic, bootstrap=bootstrap, timeout=WAIT_S) as consumer:
        assert next(consumer).value == b"behind it", "nobody waits for it any more"
    assert "has no open transaction" in run("txn", "abort", topic, "--yes", code=1).stderr
    with pytest.raises(Fenced):
        transaction.commit()
    producer.close()


def test_a_transaction_that_is_alive_is_not_ended_by_its_place(
    run: Run, topic: str, opened: tuple[Producer, Transaction]
) -> None:
    place = ("--topic", topic, "--partition", "0", "--start-offset")
    assert f"barnabas txn abort {topic}" in run("txn", "abort", *place, "0", "--yes", code=1).stderr
    assert "Open ones begin at 0" in run("txn", "abort", *place, "5", "--yes", code=1).stderr
    opened[1].commit()
    assert "Nothing is open" in run("txn", "abort", *place, "0", "--yes", code=1).stderr
    assert run("txn", "find-hanging", "--topic", topic, "--longer-than", "0s").stdout.startswith("no transaction hangs")


def test_a_transaction_of_a_living_producer_does_not_hang(
    run: Run, topic: str, opened: tuple[Producer, Transaction]
) -> None:
    assert listed(run, "txn", "find-hanging", "--topic", topic, "--longer-than", "0s") == []


def test_what_is_not_there(run: Run, topic: str, opened: tuple[Producer, Transaction]) -> None:
    near = f"Did you mean '{topic}'?"
    assert near in run("txn", "describe", f"{topic}x", code=1).stderr
    assert near in run("txn", "abort", f"{topic}x", "--yes", code=1).stderr
    assert "barnabas topic create" in run("txn", "producers", "no-such-topic-at-all", code=1).stderr
    assert "no partition 7" in run("txn", "producers", topic, "--partition", "7", code=1).stderr
    assert "there is no state 'Open'" in run("txn", "list", "--state", "Open", code=1).stderr
    assert "refused it" in run("txn", "list", "--pattern", "(", code=1).stderr


# --- one that hangs ------------------------------------------------------------------------------------------------


@pytest.fixture
def hung(tmp_path: Path) -> Iterator[RunningNode]:
    """A node in whose log a transaction was never ended: written while it was down, as a bug would leave it."""
    with running_node({"group.initial.rebalance.delay.ms": 0}, data_dir=tmp_path) as node:
        with Producer(node.bootstrap) as producer:
            producer.send_many("t", [b"0", b"1"]).result(WAIT_S)
        node.stop()
        written_ms = int(time.time() * 1000) - LONG_AGO_MS
        lost = batch([b"hangs"], timestamp=written_ms, producer_id=4_711, producer_epoch=3, base_sequence=0,
                     attributes=TRANSACTIONAL, base_offset=2, leader_epoch=0)  # fmt: skip
        (segment,) = (tmp_path / "t-0").glob("*.log")
        segment.write_bytes(segment.read_bytes() + lost)
        (tmp_path / ".kafka_cleanshutdown").unlink()
        node.start()
        yield node


def test_a_hanging_transaction_is_found_and_ended(hung: RunningNode) -> None:
    command = run.__wrapped__(hung.bootstrap)  # type: ignore[attr-defined]
    with Producer(hung.bootstrap) as producer:
        producer.send("t", b"behind it")
    with Consumer("t", bootstrap=hung.bootstrap, timeout=1) as consumer:
        assert [each.value for each in consumer] == [b"0", b"1"], "readers wait for it"
    assert listed(command, "txn", "find-hanging", "--longer-than", "2h") == []
    (found,) = listed(command, "txn", "find-hanging")
    assert (found["topic"], found["partition"], found["start_offset"]) == ("t", 0, 2)
    assert (found["producer_id"], found["producer_epoch"], found["transactional_id"]) == (4_711, 3, None)
    assert found["idle_seconds"] == pytest.approx(3_600, abs=WAIT_S)
    advice = command("txn", "find-hanging", "--topic", "t").stdout.splitlines()[1].strip()
    assert advice == "barnabas txn abort --topic t --partition 0 --start-offset 2"
    command(*advice.split()[1:], code=2)  # nobody to ask
    command(*advice.split()[1:], "--yes")
    with Consumer("t", bootstrap=hung.bootstrap, follow=False) as consumer:
        assert [each.value for each in consumer] == [b"0", b"1", b"behind it"]
    assert listed(command, "txn", "find-hanging") == []

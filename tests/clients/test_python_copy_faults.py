"""`barnabas.copy` while the cluster misbehaves: aborts, cut connections, restarts, silence, zombies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import barnabas
from barnabas import Fenced, Message, Producer, TimedOut
from barnabas.testing import RunningNode, running_node
from tests.clients.test_python_copy import same
from tests.clients.test_python_transactions import WAIT_S, fill, reading, values
from tests.support.servers import BarnabasNode


@pytest.fixture
def node() -> Iterator[RunningNode]:
    with running_node({"group.initial.rebalance.delay.ms": 0}) as running:
        yield running


class Stumbling:
    """Orders a fault each time so many messages went by."""

    def __init__(self, every: int, *faults: Any) -> None:
        self.every, self.faults, self.seen = every, list(faults), 0

    def __call__(self, message: Message) -> bytes:
        self.seen += 1
        if self.seen % self.every == 0 and self.faults:
            self.faults.pop(0)()
        return bytes(message.value)


def test_an_abort_in_the_middle_is_made_good(node: RunningNode) -> None:
    records = fill(node.bootstrap, "t", 1_000, partitions=2)
    fn = Stumbling(
        150,
        lambda: node.fail_next("EndTxn", "TRANSACTION_ABORTABLE"),
        lambda: node.fail_next("Produce", "TRANSACTION_ABORTABLE"),
        lambda: node.fail_next("TxnOffsetCommit", "ILLEGAL_GENERATION"),
        lambda: node.disconnect_next("EndTxn"),
        lambda: node.disconnect_next("Produce"),
    )
    with (
        Producer(node.bootstrap, transactional_id="x") as producer,
        reading(node.bootstrap, "t", max_records=1_000) as consumer,
    ):
        done = barnabas.copy(consumer, producer, fn, to="t-out", batch=100)
    assert (done.records_in, done.records_out) == (1_000, 1_000)
    assert done.aborted >= 3 and not fn.faults, "the faults were met"
    assert fn.seen >= 1_300, "what was aborted was done again"
    assert sorted(values(node.bootstrap, "t-out"), key=int) == records


def test_a_restart_of_the_node_is_waited_out(node: RunningNode) -> None:
    records = fill(node.bootstrap, "t", 600)
    restarts: list[threading.Thread] = []

    def restart() -> None:
        restarts.append(threading.Thread(target=node.restart))
        restarts[-1].start()

    with (
        Producer(node.bootstrap, transactional_id="x") as producer,
        reading(node.bootstrap, "t", max_records=600, timeout=WAIT_S) as consumer,
    ):
        barnabas.copy(consumer, producer, Stumbling(200, restart, restart), to="t-out", batch=50)
    for each in restarts:
        each.join(WAIT_S)
    assert len(restarts) == 2
    assert values(node.bootstrap, "t-out") == records


def test_a_commit_without_an_answer_is_settled_by_the_next(node: RunningNode) -> None:
    """Nobody knows how it ended, so nothing is done again before it is known."""
    records = fill(node.bootstrap, "t", 100)
    with (
        Producer(node.bootstrap, transactional_id="x", delivery_timeout=1.0) as producer,
        reading(node.bootstrap, "t", timeout=WAIT_S) as consumer,
    ):
        barnabas.copy(consumer, producer, same, to="t-out", batch=10, max_records=20)
        node.delay("EndTxn", 2_500, times=1)
        with pytest.raises(TimedOut, match="commit: no answer"):
            barnabas.copy(consumer, producer, same, to="t-out", batch=10, max_records=80)
        while True:
            try:
                barnabas.copy(consumer, producer, same, to="t-out", batch=10, max_records=70)
                break
            except TimedOut:
                continue
    assert values(node.bootstrap, "t-out") == records


def test_a_zombie_copy_is_fenced_and_writes_nothing(node: RunningNode) -> None:
    records = fill(node.bootstrap, "t", 200)
    with (
        Producer(node.bootstrap, transactional_id="x") as zombie,
        Producer(node.bootstrap, transactional_id="x") as successor,
        reading(node.bootstrap, "t", timeout=WAIT_S) as consumer,
    ):

        def usurp() -> None:
            with successor.transaction():
                pass

        with pytest.raises(Fenced):
            barnabas.copy(consumer, zombie, Stumbling(55, usurp), to="t-out", batch=10)
        assert values(node.bootstrap, "t-out") == records[:50]
        barnabas.copy(consumer, successor, same, to="t-out", batch=10, max_records=150)
    assert values(node.bootstrap, "t-out") == records


def test_what_cannot_be_written_is_told_at_once(node: RunningNode) -> None:
    fill(node.bootstrap, "t", 10)
    with Producer(node.bootstrap, transactional_id="x") as producer, reading(node.bootstrap, "t") as consumer:
        node.fail_next("Produce", "TOPIC_AUTHORIZATION_FAILED")
        with pytest.raises(barnabas.TransactionAborted, match="authorization"):
            barnabas.copy(consumer, producer, same, to="t-out")
    assert values(node.bootstrap, "t-out") == []


def test_a_node_that_is_killed_is_waited_for(make_node: Callable[[], BarnabasNode]) -> None:
    """kill -9 in the middle of whatever the copy is doing; it goes on when the node is back."""
    server = make_node()
    records = fill(server.bootstrap, "t", 3_000, partitions=2)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            with (
                Producer(server.bootstrap, transactional_id="x") as producer,
                reading(server.bootstrap, "t", max_records=3_000, timeout=WAIT_S) as consumer,
            ):
                barnabas.copy(consumer, producer, slowly, to="t-out", batch=50)
        except BaseException as error:
            failures.append(error)

    def slowly(message: Message) -> bytes:
        time.sleep(0.001)
        return same(message)

    thread = threading.Thread(target=work)
    thread.start()
    for pause_s in (1.0, 0.7, 1.3):
        time.sleep(pause_s)
        server.kill()
        server.start()
    thread.join(WAIT_S * 2)
    assert not thread.is_alive() and not failures, failures
    assert sorted(values(server.bootstrap, "t-out"), key=int) == records

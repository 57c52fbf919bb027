"""Transactions in the browser: what is open, ending it by its id; what hangs, ending it by its place."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from barnabas import Consumer, Fenced, Producer
from barnabas.testing import RunningNode, running_node
from tests.console.conftest import watch
from tests.support.cluster import BarnabasCluster
from tests.support.console import ConsoleProcess, Watched
from tests.support.wire import batch

WAIT_S = 30.0
TRANSACTIONAL = 0x10


def test_an_open_transaction_is_shown_and_aborted(watched: Watched, cluster: BarnabasCluster) -> None:
    name = f"till-{uuid.uuid4().hex[:6]}"
    producer = Producer(cluster.bootstrap, transactional_id=name)
    transaction = producer.transaction()
    transaction.begin()
    producer.send("payments.cards", "taken").result(WAIT_S)
    page = watched.open("/c/local/transactions")
    row = page.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text("Ongoing")
    expect(row).to_contain_text(re.compile(r"\d (m?s) ?1 min 0 s"))
    expect(row).to_contain_text(re.compile(r"payments\.cards \d"))
    page.get_by_label("Filter transactions").fill("nothing like it")
    expect(row).to_be_hidden()
    page.get_by_label("Filter transactions").fill(name)

    page.get_by_role("button", name="Look for them").click()
    expect(page.get_by_text("No transaction hangs")).to_be_visible()

    page.get_by_role("button", name=f"Abort {name}").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("its program is fenced")).to_be_visible()
    expect(dialog.get_by_role("button", name="Abort")).to_be_disabled()
    dialog.get_by_label(re.compile("to confirm")).fill(name)
    dialog.get_by_role("button", name="Abort").click()
    expect(page.get_by_text(f"aborted the transaction of {name}")).to_be_visible()
    expect(row).to_be_hidden()
    page.get_by_label("ended ones too").check()
    expect(row).to_contain_text(re.compile("CompleteAbort|Empty"))
    with pytest.raises(Fenced):
        transaction.commit()
    producer.close()


@pytest.fixture
def hung(tmp_path: Path) -> Iterator[RunningNode]:
    """A node in whose log a transaction was never ended: written while it was down, as a bug would leave it."""
    with running_node({"group.initial.rebalance.delay.ms": 0}, data_dir=tmp_path / "data") as node:
        with Producer(node.bootstrap) as producer:
            producer.send_many("t", [b"0", b"1"]).result(WAIT_S)
        node.stop()
        written_ms = int((time.time() - 3600) * 1000)
        lost = batch([b"hangs"], timestamp=written_ms, producer_id=4_711, producer_epoch=3, base_sequence=0,
                     attributes=TRANSACTIONAL, base_offset=2, leader_epoch=0)  # fmt: skip
        (segment,) = (tmp_path / "data" / "t-0").glob("*.log")
        segment.write_bytes(segment.read_bytes() + lost)
        (tmp_path / "data" / ".kafka_cleanshutdown").unlink()
        node.start()
        yield node


def test_a_hanging_transaction_is_found_and_ended(browser: Browser, hung: RunningNode, tmp_path: Path) -> None:
    console = ConsoleProcess(tmp_path / "console", hung.bootstrap)
    try:
        console.start()
        for watched in watch(browser, console.address):
            page = watched.open("/c/local/transactions")
            page.get_by_label("Silent for longer than").select_option("a day")
            page.get_by_role("button", name="Look for them").click()
            expect(page.get_by_text("No transaction hangs")).to_be_visible()
            page.get_by_label("Silent for longer than").select_option("15 minutes")
            page.get_by_role("button", name="Look for them").click()
            row = page.get_by_role("row").filter(has_text="4711")
            expect(row).to_contain_text("no coordinator knows this producer")
            expect(row).to_contain_text("1 h 0 min")
            page.get_by_role("button", name="Abort in t-0").click()
            page.get_by_role("dialog").get_by_label(re.compile("to confirm")).fill("t-0")
            page.get_by_role("button", name="Write an abort marker").click()
            expect(page.get_by_text("aborted what hung in t-0")).to_be_visible()
            expect(page.get_by_text("No transaction hangs")).to_be_visible()
    finally:
        console.stop()
    with Producer(hung.bootstrap) as producer:
        producer.send("t", b"behind it")
    with Consumer("t", bootstrap=hung.bootstrap, follow=False) as consumer:
        assert [each.value for each in consumer] == [b"0", b"1", b"behind it"], "readers do not wait any more"

"""What nodes and clients measure of themselves, in the browser: nodes with /metrics, a client that pushes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, expect

from tests.console.conftest import watch
from tests.support.cluster import BarnabasCluster
from tests.support.console import ConsoleProcess, Watched
from tests.support.process import free_port
from tests.support.servers import BarnabasNode


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BarnabasNode, ConsoleProcess]]:
    folder = tmp_path_factory.mktemp("measured")
    node = BarnabasNode(folder, {"metrics.listeners": f"http://127.0.0.1:{free_port()}"})
    console = ConsoleProcess(folder / "console", node.bootstrap)
    try:
        node.start()
        console.start()
        yield node, console
    finally:
        console.stop()
        node.stop()


@pytest.fixture
def page(browser: Browser, measured: tuple[BarnabasNode, ConsoleProcess]) -> Iterator[Watched]:
    yield from watch(browser, measured[1].address)


def test_bytes_and_processor_of_a_node(page: Watched) -> None:
    shown = page.open("/")
    expect(shown.get_by_role("img", name=re.compile("Bytes a second"))).to_be_visible()
    row = shown.get_by_role("table", name="Nodes").get_by_role("row").last
    expect(row).to_contain_text(re.compile(r"[0-9]+ %"))
    expect(row).to_contain_text("MiB")
    assert page.serious() == []


def test_a_client_s_own_view(page: Watched, measured: tuple[BarnabasNode, ConsoleProcess]) -> None:
    node, _ = measured
    shown = page.open("/c/local/clients")
    expect(shown.get_by_text("No client pushes metrics.")).to_be_visible()
    command = [sys.executable, "-m", "barnabas.cli.main", "telemetry", "subscribe", "all", "*", "--every", "1s"]
    subprocess.run([*command, "-b", node.bootstrap], check=True, capture_output=True, timeout=30)
    producer = Producer({"bootstrap.servers": node.bootstrap, "client.id": "checkout", "linger.ms": 0})
    link = shown.get_by_role("link", name="checkout")
    for _ in range(60):
        producer.produce("views", b"x")
        producer.flush(10)
        if link.is_visible():
            break
        shown.wait_for_timeout(250)  # the client has to go on while it is waited for
    link.click()
    expect(shown.get_by_text(re.compile("producer_")).first).to_be_visible()
    assert page.serious() == []


def test_nodes_without_metrics_say_how(watched: Watched, cluster: BarnabasCluster) -> None:
    shown = watched.open("/c/local/clients")
    expect(shown.get_by_text("Nodes do not serve metrics here")).to_be_visible()

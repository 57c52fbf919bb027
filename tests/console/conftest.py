"""One browser for all tests, three nodes with topics and a group, a console on them, and a watched page."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Browser, sync_playwright

from tests.conftest import FAST_GROUPS
from tests.console.secured import Secured, console_with
from tests.support.cluster import BarnabasCluster
from tests.support.console import ConsoleProcess, Watched, launch

ORDERS = 2_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = launch(playwright)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasCluster]:
    """Three nodes. `orders` has JSON values in six partitions; `billing` has read its first half."""
    running = BarnabasCluster(tmp_path_factory.mktemp("cluster"), 3, FAST_GROUPS)
    try:
        running.start()
        fill(running.bootstrap)
        yield running
    finally:
        running.stop()


def fill(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic("orders", 6, 3), NewTopic("payments.cards", 3, 3)]).values():
        future.result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for number in range(ORDERS):
        value = {
            "id": number,
            "item": f"item-{number % 7}",
            "price": number / 10,
            "member": {"name": f"m{number % 50}"},
        }
        producer.produce("orders", key=f"order-{number}", value=json.dumps(value), headers={"source": b"shop"})
    assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "billing", "enable.auto.commit": False})
    halves = []
    for partition in range(6):
        _, end = consumer.get_watermark_offsets(TopicPartition("orders", partition), timeout=30)
        halves.append(TopicPartition("orders", partition, end // 2))
    consumer.commit(offsets=halves, asynchronous=False)
    consumer.close()


@pytest.fixture(scope="session")
def console(cluster: BarnabasCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    serving = ConsoleProcess(tmp_path_factory.mktemp("console"), cluster.bootstrap)
    try:
        serving.start()
        yield serving
    finally:
        serving.stop()


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Three nodes with users and rules, beside the open ones."""
    running = Secured(tmp_path_factory.mktemp("secured"))
    try:
        running.start()
        yield running
    finally:
        running.cluster.stop()


@pytest.fixture(scope="session")
def safe(
    secured: Secured, cluster: BarnabasCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleProcess]:
    """A console with the secured cluster (`safe`) and the open one (`open`), and a role for support."""
    roles = """
[[roles]]
name = "support"
users = ["support"]
data = false
read_only = true
"""
    config = secured.settings("safe") + f'[clusters.open]\nbootstrap = "{cluster.bootstrap}"\n' + roles
    with console_with(tmp_path_factory.mktemp("safe"), config) as serving:
        yield serving


@pytest.fixture
def watched(browser: Browser, console: ConsoleProcess) -> Iterator[Watched]:
    """A page of the console; errors of its scripts fail the test."""
    yield from watch(browser, console.address)


def watch(browser: Browser, address: str) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = Watched(context.new_page(), address)
    try:
        yield page
        assert page.unexpected() == []
    finally:
        context.close()

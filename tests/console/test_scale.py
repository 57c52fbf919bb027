"""Ten thousand topics and a thousand groups: pages open, filter and stay small."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Browser, expect

from tests.console.conftest import watch
from tests.support.console import ConsoleProcess, Watched
from tests.support.servers import BarnabasNode
from tests.support.wire import OFFSET_COMMIT, WireClient, await_group_coordinator

TOPICS, GROUPS = 10_000, 1_000
MEMORY_MAX_MIB = 120


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    folder = tmp_path_factory.mktemp("large")
    node = BarnabasNode(folder)
    console = ConsoleProcess(folder / "console", node.bootstrap)
    try:
        node.start()
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        for first in range(0, TOPICS, 1_000):
            names = [f"topic-{number:05}" for number in range(first, first + 1_000)]
            for future in admin.create_topics([NewTopic(name, 1, 1) for name in names], request_timeout=60).values():
                future.result(60)
        commit(node.bootstrap)
        console.start()
        yield console
    finally:
        console.stop()
        node.stop()


def commit(bootstrap: str) -> None:
    with WireClient(bootstrap) as client:
        await_group_coordinator(client, "g-0000")
        for number in range(GROUPS):
            topic = {
                "name": f"topic-{number:05}",
                "partitions": [{"partition_index": 0, "committed_offset": 0, "committed_metadata": ""}],
            }
            body = {
                "group_id": f"g-{number:04}",
                "generation_id_or_member_epoch": -1,
                "member_id": "",
                "topics": [topic],
            }
            answer = client.call(OFFSET_COMMIT, 8, body)
            assert answer["topics"][0]["partitions"][0]["error_code"] == 0


@pytest.fixture
def page(browser: Browser, large: ConsoleProcess) -> Iterator[Watched]:
    yield from watch(browser, large.address)


def resident_mib(process: ConsoleProcess) -> float:
    with open(f"/proc/{process.pid}/status") as status:
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1]) / 1024


def test_many_topics_and_groups(page: Watched, large: ConsoleProcess) -> None:
    shown = page.open("/c/local/topics")
    expect(shown.get_by_text("10,000 of 10,0", exact=False)).to_be_visible()
    shown.get_by_label("Filter topics").fill("topic-09999")
    expect(shown.get_by_role("table", name="Topics").locator("tbody tr")).to_have_count(1)
    shown.get_by_role("link", name="topic-09999").click()
    expect(shown.get_by_role("heading", name="topic-09999")).to_be_visible()
    shown = page.open("/c/local/groups")
    expect(shown.get_by_text(re.compile("1,000"))).to_be_visible()
    assert resident_mib(large) <= MEMORY_MAX_MIB

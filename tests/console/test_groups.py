"""Groups in the browser: lag in records and seconds, members of both protocols, reset with a preview, delete."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Browser, Locator, Page, expect

from barnabas.pipelines.source.group import COMMITTED_BY
from tests.support.cluster import BarnabasCluster
from tests.support.console import ConsoleProcess, Watched
from tests.support.members import QUIET, Member, until

PARTITIONS, RECORDS = 3, 20  # of each partition
HOURS_AGO = 3


@pytest.fixture(scope="module")
def clicks(cluster: BarnabasCluster) -> str:
    """A topic whose first half was written three hours ago, and its second half an hour ago."""
    name = f"clicks.{uuid.uuid4().hex[:6]}"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
    admin.create_topics([NewTopic(name, PARTITIONS, 3)])[name].result(30)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 50, **QUIET})
    for hours in (HOURS_AGO, 1):
        written_ms = int((time.time() - hours * 3600) * 1000)
        for number in range(RECORDS // 2):
            for partition in range(PARTITIONS):
                producer.produce(name, str(number), partition=partition, timestamp=written_ms)
        assert producer.flush(30) == 0
    return name


def commit(cluster: BarnabasCluster, group: str, topic: str, offset: int, metadata: str = "") -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
    places = [TopicPartition(topic, each, offset, metadata) for each in range(PARTITIONS)]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])[group].result(30)


def committed(cluster: BarnabasCluster, group: str, topic: str) -> list[int]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group, **QUIET})
    try:
        return [each.offset for each in consumer.committed([TopicPartition(topic, i) for i in range(PARTITIONS)], 30)]
    finally:
        consumer.close()


@pytest.fixture
def group(cluster: BarnabasCluster, clicks: str) -> str:
    """Has read a quarter: what it has not read begins three hours ago."""
    name = f"readers/{uuid.uuid4().hex[:6]}"
    commit(cluster, name, clicks, RECORDS // 4)
    return name


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def test_the_list_has_lag_in_records_and_in_seconds(
    watched: Watched, cluster: BarnabasCluster, clicks: str, group: str
) -> None:
    ahead = f"{group}-ahead"
    commit(cluster, ahead, clicks, RECORDS // 2)
    commit(cluster, f"{group}-done", clicks, RECORDS)
    commit(cluster, f"{group}-query", clicks, 0, COMMITTED_BY)
    page = watched.open("/c/local/groups")
    page.get_by_label("Filter groups").fill(group)
    expect(row(page, group)).to_contain_text(re.compile(r"Empty ?classic ?0 ?clicks\.\w+ ?45 ?3 h 0 min"))
    expect(row(page, ahead)).to_contain_text(re.compile(r"30 ?1 h 0 min"))
    expect(row(page, f"{group}-done")).to_contain_text(re.compile(r"0 ?0 ms"))
    expect(row(page, f"{group}-query")).to_contain_text(re.compile(r"spark.*60 ?3 h 0 min"))
    page.get_by_label("Kind").select_option("spark")
    expect(row(page, group)).to_be_hidden()
    page.get_by_label("Kind").select_option("")
    page.get_by_role("button", name="Lag").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text(f"{group}-query")
    page.get_by_role("button", name="Lag").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text(f"{group}-done")
    page.get_by_label("State").select_option("Empty")
    expect(row(page, group)).to_be_visible()

    row(page, f"{group}-query").get_by_role("link").first.click()
    expect(page.get_by_text("goes on from its own checkpoint")).to_be_visible()
    expect(page.get_by_role("button", name="Reset …")).to_be_hidden()


def test_the_overview_and_topics_have_the_age_of_what_is_unread(watched: Watched, clicks: str, group: str) -> None:
    page = watched.open("/")
    expect(page.get_by_role("listitem").filter(has_text=group).first).to_contain_text("3 h 0 min")
    page = watched.open(f"/c/local/topics?name={clicks}")
    expect(row(page, clicks)).to_contain_text("3 h 0 min")


@pytest.fixture
def members(cluster: BarnabasCluster, clicks: str, group: str) -> Iterator[list[Member]]:
    """Two of the classic protocol in `group`, one of KIP-848 in another."""
    started = [
        Member(cluster.bootstrap, group, [clicks], name="reader-a"),
        Member(cluster.bootstrap, group, [clicks], name="reader-b"),
        Member(cluster.bootstrap, f"{group}-new", [clicks], "consumer", "newer"),
    ]
    try:
        until(lambda: sum(len(each.partitions) for each in started) == 2 * PARTITIONS, "everybody owns something")
        yield started
    finally:
        for each in started:
            each.close()


def test_members_and_what_they_own(watched: Watched, clicks: str, group: str, members: list[Member]) -> None:
    page = watched.open("/c/local/groups")
    page.get_by_label("Filter groups").fill(group)
    expect(row(page, group)).to_contain_text(re.compile(r"Stable ?classic ?2"))
    expect(row(page, f"{group}-new")).to_contain_text(re.compile(r"Stable ?consumer ?1"))
    row(page, group).get_by_role("link").first.click()
    table = page.get_by_role("table", name="Members")
    for member in members[:2]:
        owns = table.get_by_role("row").filter(has_text=member.name)
        expect(owns).to_contain_text("127.0.0.1")
        expect(owns).to_contain_text(clicks)
    partitions = page.get_by_role("table", name="Partitions")
    expect(partitions.get_by_role("row").filter(has_text="reader-a").first).to_contain_text("20")
    expect(page.get_by_role("img", name=re.compile("Lag in records"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Lag in seconds"))).to_be_visible()

    page.get_by_role("button", name="Reset …").click()
    page.get_by_role("button", name="Preview").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("The group has 2 members.")).to_be_visible()
    expect(dialog.get_by_role("button", name=f"Move {group}")).to_be_disabled()
    page.keyboard.press("Escape")
    watched.expected("409")
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("dialog").get_by_label(re.compile("to confirm")).fill(group)
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text(f"{group} has members")).to_be_visible()

    page = watched.open("/c/local/groups")
    page.get_by_label("Filter groups").fill(f"{group}-new")
    row(page, f"{group}-new").get_by_role("link").first.click()
    expect(page.get_by_role("table", name="Members")).to_contain_text(f"{clicks} 0–2")


def open_reset(page: Page, group: str) -> Locator:
    page.get_by_role("button", name="Reset …").click()
    return page.get_by_role("dialog", name=f"Reset {group}")


def test_a_reset_does_what_its_preview_said(
    watched: Watched, cluster: BarnabasCluster, clicks: str, group: str
) -> None:
    page = watched.open(f"/c/local/groups/{group.replace('/', '%2F')}")
    dialog = open_reset(page, group)
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text("15 records are read again")).to_be_visible()
    expect(dialog.get_by_role("row").nth(1)).to_contain_text(re.compile("3 h 0 min ago"))
    for way, value, told in (
        ("the end", "", "45 are skipped"),
        ("an offset", "19", "42 are skipped"),
        ("forward or back by records", "-2", "6 records are read again"),
    ):
        dialog.get_by_label("Go on from").select_option(way)
        expect(dialog.get_by_text("What will happen")).to_be_hidden()
        if value:
            dialog.get_by_role("spinbutton").fill(value)
        dialog.get_by_role("button", name="Preview").click()
        expect(dialog.get_by_text(told)).to_be_visible()
    dialog.get_by_label("Go on from").select_option("a time")
    between = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - 2 * 3600))
    dialog.get_by_label("Time", exact=False).and_(dialog.locator("input")).fill(between)
    dialog.get_by_label("Partitions").fill("0, 2-2")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text("In 2 partitions: 0 records are read again, 10 are skipped")).to_be_visible()
    expect(dialog.get_by_role("row").nth(1)).to_contain_text("1 h 0 min ago")
    assert committed(cluster, group, clicks) == [5, 5, 5], "a preview changes nothing"
    dialog.get_by_role("button", name=f"Move {group}").click()
    expect(page.get_by_text(f"moved {group} in 2 partitions")).to_be_visible()
    assert committed(cluster, group, clicks) == [10, 5, 10]
    expect(page.get_by_role("table", name="Partitions").get_by_role("row").nth(1)).to_contain_text("10")


def test_a_group_that_moved_since_the_preview_is_not_moved(
    watched: Watched, cluster: BarnabasCluster, clicks: str, group: str
) -> None:
    page = watched.open(f"/c/local/groups/{group.replace('/', '%2F')}")
    page.get_by_role("button", name=f"Reset {clicks}").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Partitions").fill("7")
    watched.expected("400|409")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text("has no partition '7'")).to_be_visible()
    dialog.get_by_label("Partitions").fill("")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text("15 records are read again")).to_be_visible()
    commit(cluster, group, clicks, 9)
    dialog.get_by_role("button", name=f"Move {group}").click()
    expect(dialog.get_by_text("since the preview")).to_be_visible()
    assert committed(cluster, group, clicks) == [9, 9, 9]


def test_offsets_of_a_topic_and_a_group_are_deleted(
    watched: Watched, cluster: BarnabasCluster, clicks: str, group: str
) -> None:
    commit(cluster, group, "payments.cards", 0)
    page = watched.open(f"/c/local/groups/{group.replace('/', '%2F')}")
    page.get_by_role("button", name=f"Delete offsets of {clicks}").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Delete offsets")).to_be_disabled()
    dialog.get_by_label(re.compile("to confirm")).fill(clicks)
    dialog.get_by_role("button", name="Delete offsets").click()
    table = page.get_by_role("table", name="Partitions")
    expect(table.get_by_role("link", name=clicks)).to_have_count(0)
    expect(table.get_by_role("link", name="payments.cards").first).to_be_visible()
    assert all(each < 0 for each in committed(cluster, group, clicks))

    watched.expected("404")  # the page asks for it once more while it goes
    page.get_by_role("button", name="Delete …").click()
    page.get_by_role("dialog").get_by_label(re.compile("to confirm")).fill(group)
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Groups")).to_be_visible()
    page.get_by_label("Filter groups").fill(group)
    expect(row(page, group)).to_be_hidden()


@pytest.mark.parametrize(("scheme", "width"), [("light", 380), ("dark", 1280)])
def test_pages_of_groups_are_accessible(
    browser: Browser, console: ConsoleProcess, group: str, scheme: str, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    one = f"groups/{group.replace('/', '%2F')}"
    pages = {
        380: [("groups", group), ("transactions", "Hanging transactions")],
        1280: [("pipelines", "Ready to start")],
    }
    try:
        watched = Watched(context.new_page(), console.address)
        for path, seen in (*pages[width], (one, "Lag in records")):
            expect(watched.open(f"/c/local/{path}").get_by_text(seen).first).to_be_visible()
            if path == one:
                open_reset(watched.page, group).get_by_role("button", name="Preview").click()
                expect(watched.page.get_by_text("What will happen")).to_be_visible()
            assert watched.serious() == []
            assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
        assert watched.unexpected() == []
    finally:
        context.close()

"""Topics in the browser: from create to delete, favourites, the tree by name."""

from __future__ import annotations

import re
import uuid

from confluent_kafka import Producer
from playwright.sync_api import Page, expect

from tests.support.cluster import BarnabasCluster
from tests.support.console import Watched


def create(page: Page, name: str, partitions: int) -> None:
    page.get_by_role("button", name="Create topic").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Partitions").fill(str(partitions))
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def test_a_topic_from_create_to_delete(watched: Watched, cluster: BarnabasCluster) -> None:
    name = f"shipments.{uuid.uuid4().hex[:6]}"
    page = watched.open("/c/local/topics")
    create(page, name, 2)
    expect(page.get_by_text("2 partitions")).to_be_visible()
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(40):
        producer.produce(name, value=str(number))
    assert producer.flush(30) == 0

    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Filter settings").fill("retention.ms")
    page.get_by_role("button", name="Change retention.ms", exact=True).click()
    page.get_by_label("Value").fill("86400000")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row", name=re.compile("^retention.ms"))).to_contain_text("86400000")

    page.get_by_role("button", name="Add partitions").click()
    page.get_by_label("Partitions altogether").fill("5")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("5 partitions")).to_be_visible()

    page.get_by_role("button", name="Purge").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("The 40 records")).to_be_visible()
    expect(dialog.get_by_role("button", name="Delete 40 records")).to_be_disabled()
    dialog.get_by_label(re.compile("to confirm")).fill(name)
    dialog.get_by_role("button", name="Delete 40 records").click()
    expect(page.get_by_text(re.compile(r"· 0 records ·"))).to_be_visible()

    watched.expected("404")  # the page asks for it once more while it goes
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("dialog").get_by_label(re.compile("to confirm")).fill(name)
    page.get_by_role("button", name="Delete for ever").click()
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    expect(page.get_by_role("link", name=name)).to_be_hidden()


def test_what_the_cluster_refuses_is_said_in_the_dialog(watched: Watched) -> None:
    watched.expected("409|400")
    page = watched.open("/c/local/topics")
    page.get_by_role("button", name="Create topic").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("orders")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("already exists")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_favourites_come_first_and_stay(watched: Watched) -> None:
    page = watched.open("/c/local/topics")
    page.get_by_role("button", name="Favourite payments.cards").click()
    page.reload()
    first = page.get_by_role("table", name="Topics").locator("tbody tr").first
    expect(first).to_contain_text("payments.cards")
    page.get_by_role("button", name="Favourite payments.cards").click()
    expect(first).not_to_contain_text("payments.cards")


def test_the_tree_goes_by_the_parts_of_names(watched: Watched) -> None:
    page = watched.open("/c/local/topics")
    page.get_by_role("button", name="Tree").click()
    expect(page.get_by_role("link", name="payments.cards")).to_be_visible()
    page.get_by_role("link", name="payments.cards").click()
    expect(page.get_by_role("heading", name="payments.cards")).to_be_visible()


def test_a_topic_that_is_not_there_is_said(watched: Watched) -> None:
    watched.expected("404")
    page = watched.open("/c/local/topics/nothing-here")
    expect(page.get_by_role("alert").first).to_contain_text("there is no topic 'nothing-here'")


def test_every_part_of_a_topic_is_accessible(watched: Watched) -> None:
    parts = {"messages": "order-", "partitions": "First offset", "groups": "billing", "settings": "cleanup.policy"}
    for part, seen in parts.items():
        page = watched.open(f"/c/local/topics/orders/{part}")
        expect(page.get_by_text(seen).first).to_be_visible()
        assert watched.serious() == []

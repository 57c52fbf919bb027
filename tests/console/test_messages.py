"""Messages in the browser: any place, filters, chosen fields, a record's own address, live while a leader dies, and
values that are meant to harm."""

from __future__ import annotations

import json
import re
import threading
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import expect

from tests.support.cluster import BarnabasCluster
from tests.support.console import Watched

LARGE = 10 * 1024 * 1024


def new_topic(cluster: BarnabasCluster, **settings: str) -> str:
    name = f"m-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    for future in admin.create_topics([NewTopic(name, 1, 3, config=settings)]).values():
        future.result(30)
    return name


def test_newest_first_then_older_pages(watched: Watched) -> None:
    page = watched.open("/c/local/topics/orders/messages?partitions=0")
    first = page.get_by_role("table", name="Messages").locator("tbody tr").first
    expect(first).to_contain_text("order-")
    newest = int(first.get_by_role("link").inner_text())
    page.get_by_role("button", name="Older").click()
    expect(first.get_by_role("link")).to_have_text(str(newest - 50))
    page.get_by_role("button", name="Newest").click()
    expect(first.get_by_role("link")).to_have_text(str(newest))


@pytest.mark.parametrize(
    ("kind", "wanted", "found"),
    [("Text", "order-777", 1), ("Regular expression", "^order-19[0-9]{2}$", 100), ("Expression", ".id >= 1990", 10)],
)
def test_filters(watched: Watched, kind: str, wanted: str, found: int) -> None:
    page = watched.open("/c/local/topics/orders/messages?count=200")
    page.get_by_label("Kind of filter").select_option(label=kind)
    page.get_by_label("Filter messages").fill(wanted)
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.get_by_text("looked at 2,000 records, which is all")).to_be_visible()
    expect(page.get_by_role("table", name="Messages").locator("tbody tr")).to_have_count(found)


def test_a_wrong_expression_is_said_with_its_place(watched: Watched) -> None:
    watched.expected("400")
    page = watched.open("/c/local/topics/orders/messages?kind=where&filter=.id+%3D%3D")
    expect(page.get_by_role("alert")).to_contain_text(re.compile("position|end"))


def test_chosen_fields_are_columns_that_stay(watched: Watched) -> None:
    page = watched.open("/c/local/topics/orders/messages")
    page.get_by_label("Add a column").select_option(".member.name")
    expect(page.get_by_role("columnheader", name=".member.name")).to_be_visible()
    page.reload()
    expect(page.get_by_role("cell", name=re.compile("^m[0-9]+$")).first).to_be_visible()
    page.get_by_role("button", name="Take column .member.name away").click()
    expect(page.get_by_role("columnheader", name="Value")).to_be_visible()


def test_a_record_has_an_address_and_can_be_taken_along(watched: Watched) -> None:
    page = watched.open("/c/local/topics/orders/messages?record=0-3")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("source")).to_be_visible()
    expect(dialog.get_by_text("shop")).to_be_visible()
    with page.expect_download() as download:
        dialog.get_by_role("link", name="Download value").click()
    value = json.loads(Path(download.value.path()).read_bytes())
    dialog.get_by_role("button", name="Copy value").click()
    assert json.loads(page.evaluate("navigator.clipboard.readText()")) == value
    assert watched.serious() == []
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert "record=" not in page.url


def test_values_that_are_meant_to_harm_are_shown_as_what_they_are(watched: Watched, cluster: BarnabasCluster) -> None:
    topic = new_topic(cluster, **{"max.message.bytes": str(2 * LARGE)})
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "message.max.bytes": 2 * LARGE})
    script = b"<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"
    large = json.dumps({"rows": [{"n": number, "text": "x" * 40} for number in range(90_000)]}).encode()
    hostile = [
        script,
        large,
        b"\x1b[2J\x00\x07 bell",
        b"\xff\xfe\xfa\x00invalid",
        b"[" * 100_000,
        b'{"big": 9007199254740993}',
        bytes(LARGE),
    ]
    for value in hostile:
        producer.produce(topic, key=script, value=value, headers={"<b>h</b>": script})
    assert producer.flush(60) == 0
    page = watched.open(f"/c/local/topics/{topic}/messages")
    expect(page.get_by_role("table", name="Messages").locator("tbody tr")).to_have_count(len(hostile))
    for offset in range(len(hostile)):
        page.goto(f"{watched.address}/c/local/topics/{topic}/messages?record=0-{offset}")
        expect(page.get_by_role("dialog").get_by_text("Value", exact=True)).to_be_visible()
    assert "hacked" not in page.title()
    assert page.locator("img[src=x]").count() == 0
    page.goto(f"{watched.address}/c/local/topics/{topic}/messages?record=0-5")
    expect(page.get_by_role("dialog").get_by_text("9007199254740993")).to_be_visible()  # a browser's own JSON: ...992


def test_live_goes_on_when_the_leader_is_killed(watched: Watched, cluster: BarnabasCluster) -> None:
    topic = new_topic(cluster)
    page = watched.open(f"/c/local/topics/{topic}/messages")
    page.get_by_role("button", name="Live").click()
    expect(page.get_by_text("waiting for records")).to_be_visible()
    stop = threading.Event()

    def write() -> None:
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 5})
        number = 0
        while not stop.wait(0.02):
            producer.produce(topic, value=f"tick {number}")
            producer.poll(0)
            number += 1
        producer.flush(30)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        expect(page.get_by_text(re.compile("tick [0-9]+")).first).to_be_visible()
        metadata = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(topic, timeout=30)
        leader = metadata.topics[topic].partitions[0].leader
        cluster.kill(leader)
        try:
            seen = int(page.get_by_text(re.compile("tick [0-9]+")).first.inner_text().split()[1])
            expect(page.get_by_text(f"tick {seen + 100}", exact=True)).to_be_visible(timeout=30_000)
        finally:
            cluster.start(leader)
    finally:
        stop.set()
        writing.join()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Live").click()
    expect(page.get_by_label("Begin")).to_be_enabled()

"""Search, produce and send again in the browser: what is found is complete, what is sent again is the same bytes."""

from __future__ import annotations

import re
import time
import uuid

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import expect

from tests.support.cluster import BarnabasCluster
from tests.support.console import Watched


def new_topic(cluster: BarnabasCluster) -> str:
    name = f"s-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    for future in admin.create_topics([NewTopic(name, 1, 3)]).values():
        future.result(30)
    return name


def records_of(cluster: BarnabasCluster, topic: str, count: int) -> list[Message]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[Message] = []
    while len(found) < count:
        message = consumer.poll(30)
        assert message is not None and message.error() is None
        found.append(message)
    consumer.close()
    return found


def test_a_search_is_complete_and_says_so(watched: Watched) -> None:
    page = watched.open("/c/local/search")
    page.get_by_label("Topic").fill("orders")
    page.get_by_label("By").select_option("where")
    page.get_by_label("What").fill('.item == "item-3" and .id < 700')
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_text("100 found")).to_be_visible()
    expect(page.get_by_text(re.compile("all 2,000 records looked at .* complete"))).to_be_visible()
    expect(page.get_by_role("table", name="Messages").locator("tbody tr")).to_have_count(100)
    page.get_by_role("table", name="Messages").get_by_role("link").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("item-3")
    page.keyboard.press("Escape")
    assert watched.serious() == []


def test_a_pattern_that_is_none_is_said(watched: Watched) -> None:
    watched.expected("400")
    page = watched.open("/c/local/search?topic=orders&kind=regex&pattern=%5B")
    expect(page.get_by_role("alert")).to_contain_text("missing ]")
    page = watched.open("/c/local/search?topic=orders&kind=where&pattern=.price+%3E")
    expect(page.get_by_role("alert")).to_contain_text("(at character 9)")
    page = watched.open("/c/local/topics/orders/messages?live=1&kind=where&filter=.price+%3E")
    expect(page.get_by_text("(at character 9)")).to_be_visible()


def test_a_record_is_produced_by_hand(watched: Watched, cluster: BarnabasCluster) -> None:
    topic = new_topic(cluster)
    page = watched.open(f"/c/local/topics/{topic}/messages")
    page.get_by_role("button", name="Produce").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name=re.compile("^Key")).fill("k1")
    dialog.get_by_role("textbox", name="Value", exact=True).fill('{"größe": 1}')
    dialog.get_by_role("textbox", name=re.compile("^Headers")).fill("source: by hand\nempty")
    assert watched.serious() == []
    dialog.get_by_role("button", name="Produce").click()
    expect(page.get_by_text("written to partition 0 at offset 0")).to_be_visible()
    expect(page.get_by_role("table", name="Messages")).to_contain_text("größe")
    (record,) = records_of(cluster, topic, 1)
    assert (record.key(), record.value()) == (b"k1", '{"größe": 1}'.encode())
    assert record.headers() == [("source", b"by hand"), ("empty", None)]


def test_chosen_records_are_sent_again(watched: Watched, cluster: BarnabasCluster) -> None:
    topic = new_topic(cluster)
    page = watched.open("/c/local/topics/orders/messages?partitions=0")
    boxes = page.get_by_role("checkbox", name=re.compile("^Choose orders-"))
    for number in range(3):
        boxes.nth(number).check()
    page.get_by_role("button", name="Send again").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text(re.compile("3 records .* of orders, partition 0"))).to_be_visible()
    dialog.get_by_label("To the topic").fill(topic)
    dialog.get_by_role("button", name="Send 3 records").click()
    expect(page.get_by_text(f"sent 3 to {topic}")).to_be_visible()
    sent = records_of(cluster, topic, 3)
    assert all((each.value() or b"").startswith(b'{"id"') for each in sent)
    marks = [dict(each.headers() or [])["barnabas.redriven.from"] for each in sent]
    assert all(isinstance(mark, bytes) and mark.startswith(b"orders-0-") for mark in marks)


def test_all_that_a_search_found_is_sent_again(watched: Watched, cluster: BarnabasCluster) -> None:
    topic = new_topic(cluster)
    page = watched.open("/c/local/search?topic=orders&kind=regex&pattern=order-1[0-9]{3}")
    expect(page.get_by_text("1,000 found")).to_be_visible()
    page.get_by_role("button", name="Send all again").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("To the topic").fill(topic)
    dialog.get_by_role("button", name="Send 1,000 records").click()
    expect(dialog.get_by_text("1,000 sent: all of them")).to_be_visible()
    assert len({each.key() for each in records_of(cluster, topic, 1_000)}) == 1_000


def test_a_search_between_times_sends_only_what_lies_between_them(watched: Watched, cluster: BarnabasCluster) -> None:
    topic = new_topic(cluster)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    hour = 3_600_000
    begin = int(time.time()) * 1_000 - 20 * hour
    for number in range(10):
        producer.produce(topic, f"letter {number}", timestamp=begin + number * hour)
    assert producer.flush(30) == 0
    times = f"since={begin + 3 * hour}&until={begin + 7 * hour}"
    page = watched.open(f"/c/local/search?topic={topic}&pattern=letter&{times}")
    expect(page.get_by_text("4 found")).to_be_visible()
    expect(page.get_by_label("From a time")).not_to_have_value("")  # what bounds a search is seen
    page.get_by_role("button", name="Send all again").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="Send 4 records")).to_be_visible()


def test_sending_to_a_topic_that_is_not_there_is_refused(watched: Watched) -> None:
    watched.expected("404|503")
    page = watched.open("/c/local/topics/orders/messages?record=0-1")
    page.get_by_role("button", name="Send again").click()
    dialog = page.get_by_role("dialog", name="Send again")
    dialog.get_by_label("To the topic").fill("nowhere-at-all")
    dialog.get_by_role("button", name="Send 1 record").click()
    expect(dialog.get_by_role("alert")).to_contain_text("nowhere-at-all")

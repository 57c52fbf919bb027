"""A topic that is deleted at the source is not made again by the mirror; when a person makes it again, all of it is
copied."""

from __future__ import annotations

import time

from confluent_kafka.admin import AdminClient

from tests.linked_clusters.pair import create, produce
from tests.mirror.sides import Sides, has_values, topics_of
from tests.support.members import QUIET, until


def test_a_deleted_topic_stays_deleted_and_a_new_one_is_copied_whole(sides: Sides) -> None:
    create(sides.east, "orders", 1)
    sides.mirror("--topics", "orders")
    first = [f"first {number}" for number in range(10)]
    produce(sides.east, "orders", first)
    has_values(sides.west, "east.orders", first)

    admin = AdminClient({**QUIET, "bootstrap.servers": sides.east})
    admin.delete_topics(["orders"])["orders"].result(20)
    until(lambda: "orders" not in topics_of(sides.east), "the topic is gone")
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        assert "orders" not in topics_of(sides.east), "the mirror made it"
        time.sleep(0.1)

    create(sides.east, "orders", 1)
    second = [f"second {number}" for number in range(40)]
    produce(sides.east, "orders", second)
    has_values(sides.west, "east.orders", first + second, 60)

    # At once, and with more records than were read of the old one: its first ones are not to be skipped.
    admin.delete_topics(["orders"])["orders"].result(20)
    until(lambda: "orders" not in topics_of(sides.east), "the topic is gone")
    create(sides.east, "orders", 1)
    third = [f"third {number}" for number in range(100)]
    produce(sides.east, "orders", third)
    has_values(sides.west, "east.orders", first + second + third, 60)

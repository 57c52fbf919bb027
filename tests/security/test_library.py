"""What Barnabas' own library raises when a user may not write."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from barnabas import Admin, DeliveryFailed, NotAllowed, Producer
from barnabas.client.admin.acls import Acl
from barnabas.testing import RunningNode, running_node

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node(secure=True, users={"alice": "a-secret", "bob": "b-secret"}) as running:
        with Admin(running.bootstrap, config=running.login()) as admin:
            admin.create_topic("bills")
            admin.create_topic("orders")
            admin.create_acls([Acl("topic", "bills", "literal", "User:bob", "*", "write", "allow")])
        yield running


@pytest.mark.parametrize("pause", [0.0, 1.0])  # before and after librdkafka knows that it gets no producer id
def test_who_may_write_nowhere_is_told_so(node: RunningNode, pause: float) -> None:
    with pytest.raises(NotAllowed), Producer(node.bootstrap, config=node.login("alice")) as producer:
        time.sleep(pause)
        producer.send("orders", b"one").result(20)


def test_who_may_write_elsewhere_is_told_of_the_record(node: RunningNode) -> None:
    with Producer(node.bootstrap, config=node.login("bob")) as producer:
        producer.send("bills", b"one").result(20)
        delivery = producer.send("orders", b"two")
        with pytest.raises(NotAllowed) as refused:
            delivery.result(20)
        assert isinstance(refused.value, DeliveryFailed)

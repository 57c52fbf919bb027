"""What Barnabas' own library raises when a user may not write, or does not get in."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

import pytest

from barnabas import Admin, CannotReach, Consumer, DeliveryFailed, NotAllowed, Producer
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


def opened(kind: Callable[..., object], bootstrap: str, config: dict[str, str], wait_s: float) -> object:
    topics = ["orders"] if kind is Consumer else []
    return kind(*topics, bootstrap=bootstrap, config=config, connect_timeout=wait_s)


def test_a_refused_login_is_the_reason_that_is_told_however_often_it_was_refused() -> None:
    """A node answers later and later, and no client goes on trying for the rest of its time."""
    with running_node(secure=True) as node:
        wrong = {**node.login(), "sasl.password": "wrong-secret"}
        for kind in (Admin, Producer, Consumer):
            begun = time.monotonic()
            with pytest.raises(
                CannotReach, match=r"the login failed: Authentication failed .*SCRAM-SHA-512\. "
            ) as told:
                opened(kind, node.bootstrap, wrong, 12)
            assert time.monotonic() - begun < 10
            assert "wrong-secret" not in str(told.value) and "rdkafka" not in str(told.value)


@pytest.mark.parametrize("kind", [Admin, Producer, Consumer])
def test_a_login_that_is_not_answered_in_time(kind: Callable[..., object]) -> None:
    with running_node({"connection.failed.authentication.delay.ms": "8000"}, secure=True) as node:
        wrong = {**node.login(), "sasl.password": "wrong-secret"}
        with pytest.raises(CannotReach, match="the login is not answered yet"):
            opened(kind, node.bootstrap, wrong, 1)


def test_tls_is_asked_for_where_there_is_none_or_another_one(node: RunningNode) -> None:
    login = node.login()
    with running_node() as plain, running_node(secure=True) as other, socket.create_server(("127.0.0.1", 0)) as silent:
        for bootstrap, told in (
            (plain.bootstrap, "the node there does not speak TLS, but the settings have security.protocol=SASL_SSL"),
            (other.bootstrap, f"a certificate of another authority than that of {login['ssl.ca.location']}"),
            (f"127.0.0.1:{silent.getsockname()[1]}", "nothing there answers to TLS"),
        ):
            with pytest.raises(CannotReach, match=told):
                opened(Producer, bootstrap, login, 1)

"""A secured node in this process: logins by password and by delegation token, refusals, and quotas."""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka.admin import AdminClient

from barnabas import Admin, Producer
from barnabas.client.errors import BarnabasError, NotAllowed
from barnabas.link.blocking_driver import BlockingLink, LinkOptions
from barnabas.link.errors import LinkDown, LoginFailed
from barnabas.link.login_settings import credentials_of, tls_of
from barnabas.link.sasl import Credentials
from barnabas.model.errors import ErrorCode
from barnabas.testing import RunningNode, running_node
from barnabas.wire.apis import (
    ALTER_CLIENT_QUOTAS,
    CREATE_DELEGATION_TOKEN,
    DESCRIBE_DELEGATION_TOKEN,
    EXPIRE_DELEGATION_TOKEN,
    METADATA,
    RENEW_DELEGATION_TOKEN,
)
from tests.support.members import QUIET

OWNER: dict[str, object] = {
    "owner_principal_type": None,
    "owner_principal_name": None,
    "renewers": [],
    "max_lifetime_ms": -1,
}


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    settings = {"delegation.token.secret.key": "a secret of these tests"}
    with running_node(settings, secure=True, users={"ada": "ada-pw", "bob": "bob-pw"}) as running:
        with Admin(running.bootstrap, config=running.login()) as admin:
            admin.create_topic("orders", partitions=1)
        yield running


def link(node: RunningNode, user: str = "admin", credentials: Credentials | None = None) -> BlockingLink:
    host, port = node.bootstrap.split(":")
    login = node.login(user)
    options = LinkOptions("test", tls=tls_of(login), credentials=credentials or credentials_of(login))
    return BlockingLink(host, int(port), options)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_password_of_a_user_is_taken(node: RunningNode, mechanism: str) -> None:
    login = {**node.login("ada"), "sasl.mechanism": mechanism}
    assert AdminClient({**QUIET, "bootstrap.servers": node.bootstrap, **login}).list_topics(timeout=20).brokers


@pytest.mark.parametrize(
    "credentials",
    [
        Credentials("SCRAM-SHA-512", "ada", "wrong"),
        Credentials("SCRAM-SHA-512", "nobody", "ada-pw"),
        Credentials("SCRAM-SHA-256", "", ""),
        Credentials("PLAIN", "ada", "ada-pw"),  # which this listener does not offer
        Credentials("SCRAM-SHA-512", "no-such-token", "AAAA", by_token=True),
    ],
)
def test_whoever_cannot_log_in_is_told_and_no_more(node: RunningNode, credentials: Credentials) -> None:
    with pytest.raises((LoginFailed, LinkDown)), closing(link(node, credentials=credentials)) as opened:
        opened.ask(METADATA, {"topics": None, "allow_auto_topic_creation": False})


def test_a_stranger_without_tls_is_turned_away(node: RunningNode) -> None:
    host, port = node.bootstrap.split(":")
    for said in (b"GET / HTTP/1.1\r\n\r\n", bytes(64), b"\x16\x03\x01\x00\x05hello"):
        with socket.create_connection((host, int(port)), 20) as client:
            client.sendall(said)
            client.settimeout(20)
            try:
                while client.recv(4096):
                    pass
            except ConnectionError:
                pass
    with pytest.raises(ssl.SSLError), socket.create_connection((host, int(port)), 20) as client:
        ssl.create_default_context().wrap_socket(client, server_hostname="127.0.0.1")
    test_a_password_of_a_user_is_taken(node, "SCRAM-SHA-512")


def test_who_has_no_right_changes_nothing(node: RunningNode) -> None:
    with Admin(node.bootstrap, config=node.login("bob")) as admin, pytest.raises(NotAllowed):
        admin.create_topic("of-bob")
    with pytest.raises(BarnabasError), Producer(node.bootstrap, config=node.login("bob")) as producer:
        producer.send("orders", "x", partition=0).result()
    with Admin(node.bootstrap, config=node.login()) as admin:
        assert [each.name for each in admin.topics()] == ["orders"]


# --- delegation tokens -----------------------------------------------------------------------------------------------


def test_a_token_logs_in_until_it_is_expired(node: RunningNode) -> None:
    with closing(link(node, "ada")) as ada:
        made = ada.ask(CREATE_DELEGATION_TOKEN, OWNER)
        assert made.error_code == 0 and made.principal_name == "ada"
        found = ada.ask(DESCRIBE_DELEGATION_TOKEN, {"owners": None}).tokens
        assert [each.token_id for each in found] == [made.token_id]
        hmac = bytes(made.hmac)
        renewed = ada.ask(RENEW_DELEGATION_TOKEN, {"hmac": hmac, "renew_period_ms": 60_000})
        assert renewed.error_code == 0
        token = Credentials("SCRAM-SHA-256", made.token_id, base64.b64encode(hmac).decode(), by_token=True)
        with closing(link(node, credentials=token)) as by_token:
            topics = by_token.ask(METADATA, {"topics": None, "allow_auto_topic_creation": False})
            assert topics.brokers
            # A token makes no further token: who has lost one would lose all.
            assert by_token.ask(CREATE_DELEGATION_TOKEN, OWNER).error_code != 0
        with closing(link(node, "bob")) as bob:
            code = bob.ask(EXPIRE_DELEGATION_TOKEN, {"hmac": hmac, "expiry_time_period_ms": -1}).error_code
            assert code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
            assert bob.ask(DESCRIBE_DELEGATION_TOKEN, {"owners": None}).tokens == []
        assert ada.ask(EXPIRE_DELEGATION_TOKEN, {"hmac": hmac, "expiry_time_period_ms": -1}).error_code == 0
        with pytest.raises((LoginFailed, LinkDown)), closing(link(node, credentials=token)) as late:
            late.ask(METADATA, {"topics": None, "allow_auto_topic_creation": False})
        unknown = {"hmac": b"no such token", "renew_period_ms": 1}
        assert ada.ask(RENEW_DELEGATION_TOKEN, unknown).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


# --- quotas ----------------------------------------------------------------------------------------------------------


def test_a_client_above_its_quota_is_told_to_wait(node: RunningNode) -> None:
    def quota(key: str, value: float | None) -> None:
        ops = [{"key": key, "value": value or 0.0, "remove": value is None}]
        entity = [{"entity_type": "user", "entity_name": "ada"}]
        with closing(link(node)) as admin:
            answer = admin.ask(
                ALTER_CLIENT_QUOTAS, {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}
            )
            assert [each.error_code for each in answer.entries] == [0]

    body = {"topics": None, "allow_auto_topic_creation": False}
    with closing(link(node, "ada")) as ada:
        assert ada.ask(METADATA, body).throttle_time_ms == 0
        quota("request_percentage", 0.0001)
        waits = [ada.ask(METADATA, body).throttle_time_ms for _ in range(3)]
        assert max(waits) > 0
        quota("request_percentage", None)
    with closing(link(node, "bob")) as bob:  # whose quota it is not
        assert bob.ask(METADATA, body).throttle_time_ms == 0

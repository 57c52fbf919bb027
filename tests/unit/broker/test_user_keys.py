"""The keys of users (DescribeScramKeys, AlterLinkedUsers): who is given them, and who may write them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from barnabas.core.access.sasl.scram import BY_NUMBER, credential, salted_password
from barnabas.link.blocking_driver import BlockingLink, LinkOptions
from barnabas.link.errors import UnknownApi
from barnabas.link.login_settings import credentials_of, tls_of
from barnabas.link.sasl import Credentials
from barnabas.model.errors import ErrorCode
from barnabas.testing import RunningNode, running_node
from barnabas.wire.apis import ALTER_LINKED_USERS, CREATE_ACLS, CREATE_DELEGATION_TOKEN, DESCRIBE_SCRAM_KEYS
from tests.support.process import free_port

if TYPE_CHECKING:
    from barnabas.wire.messages import AlterLinkedUsersResponse, DescribeScramKeysResponse

ALL = {"known_digest": b"", "check_only": False}
_CLUSTER, _LITERAL, _CLUSTER_ACTION, _ALLOW = 4, 3, 9, 3


@pytest.fixture(scope="module")
def plain_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def node(plain_port: int) -> Iterator[RunningNode]:
    """With a second listener, on which passwords count and nothing is encrypted."""
    settings = {
        "delegation.token.secret.key": "a secret of these tests",
        "listeners": f"SASL_SSL://127.0.0.1:{free_port()},OPEN://127.0.0.1:{plain_port}",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL,OPEN:SASL_PLAINTEXT",
        "listener.name.open.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    }
    users = {"linker": "linker-pw", "ada": "ada-pw"}
    with running_node(settings, secure=True, users=users) as running:
        rule = {
            "resource_type": _CLUSTER,
            "resource_name": "kafka-cluster",
            "resource_pattern_type": _LITERAL,
            "principal": "User:linker",
            "host": "*",
            "operation": _CLUSTER_ACTION,
            "permission_type": _ALLOW,
        }
        with closing(link(running, "admin")) as opened:
            assert opened.ask(CREATE_ACLS, {"creations": [rule]}).results[0].error_code == 0
        yield running


def link(node: RunningNode, user: str, credentials: Credentials | None = None) -> BlockingLink:
    host, port = node.bootstrap.split(":")
    login = node.login(user)
    options = LinkOptions("test", tls=tls_of(login), credentials=credentials or credentials_of(login))
    return BlockingLink(host, int(port), options)


def asked(opened: BlockingLink, **body: object) -> DescribeScramKeysResponse:
    with closing(opened):
        answer: DescribeScramKeysResponse = opened.ask(DESCRIBE_SCRAM_KEYS, ALL | body)
    return answer


def test_who_has_the_right_of_nodes_is_given_the_keys_once(node: RunningNode) -> None:
    answer = asked(link(node, "linker"))
    assert answer.error_code == 0 and {each.user for each in answer.keys} == {"admin", "ada", "linker"}
    for each in answer.keys:
        if each.user == "ada":
            mechanism = BY_NUMBER[each.mechanism]
            salted = salted_password(mechanism, "ada-pw", bytes(each.salt), each.iterations)
            made = credential(mechanism, bytes(each.salt), salted, each.iterations)
            assert (each.stored_key, each.server_key) == (made.stored_key, made.server_key)
    again = asked(link(node, "linker"), known_digest=bytes(answer.digest))
    assert again.digest == answer.digest and again.keys == []
    check = asked(link(node, "linker"), check_only=True)
    assert (check.error_code, check.keys) == (0, [])


def test_others_are_refused(node: RunningNode) -> None:
    for body in ({}, {"check_only": True}):
        answer = asked(link(node, "ada"), **body)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED and answer.keys == []


def test_nothing_is_given_on_a_plain_connection(node: RunningNode, plain_port: int) -> None:
    login = node.login("linker")
    options = LinkOptions("test", credentials=credentials_of(login | {"security.protocol": "SASL_PLAINTEXT"}))
    answer = asked(BlockingLink("127.0.0.1", plain_port, options))
    assert (answer.error_code, answer.keys) == (ErrorCode.POLICY_VIOLATION, [])
    assert "TLS" in (answer.error_message or "")


def test_nothing_is_given_to_a_delegation_token(node: RunningNode) -> None:
    """It may be handed on, and its owner's rights are not meant to go so far."""
    wish: dict[str, object] = {
        "owner_principal_type": None,
        "owner_principal_name": None,
        "renewers": [],
        "max_lifetime_ms": -1,
    }
    with closing(link(node, "linker")) as opened:
        token = opened.ask(CREATE_DELEGATION_TOKEN, wish | {"max_lifetime_ms": -1})
    secret = base64.b64encode(bytes(token.hmac)).decode()
    by_token = Credentials("SCRAM-SHA-512", token.token_id, secret, by_token=True)
    answer = asked(link(node, "linker", by_token))
    assert (answer.error_code, answer.keys) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])


def test_nothing_is_given_where_everybody_may_do_everything() -> None:
    with running_node({"authorizer.class.name": "", "super.users": ""}, secure=True, users={"ada": "ada-pw"}) as node:
        answer = asked(link(node, "ada"))
    assert (answer.error_code, answer.keys) == (ErrorCode.SECURITY_DISABLED, [])


def test_a_right_that_everybody_has_does_not_count() -> None:
    """While a cluster gets its first rules (docs/security.md), who has none may do everything."""
    with running_node({"allow.everyone.if.no.acl.found": "true"}, secure=True, users={"ada": "ada-pw"}) as node:
        answer = asked(link(node, "ada"))
        assert (answer.error_code, answer.keys) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])
        assert asked(link(node, "admin")).keys, "a super user is one by name"


def test_no_client_writes_keys_itself(node: RunningNode) -> None:
    """Not even with the right of nodes: the API is not offered, and a request of a connection is refused."""
    keys = {"user": "eve", "mechanism": 1, "iterations": 4096, "salt": b"s", "stored_key": bytes(32)}
    body = {"source_cluster_id": "east", "keys": [keys | {"server_key": bytes(32)}]}
    with closing(link(node, "linker")) as opened:
        with pytest.raises(UnknownApi):
            opened.ask(ALTER_LINKED_USERS, body)
        answer: AlterLinkedUsersResponse = opened.call(ALTER_LINKED_USERS, 0, body)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert "eve" not in {each.user for each in asked(link(node, "linker")).keys}

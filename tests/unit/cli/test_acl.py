"""How `barnabas acl` reads users and resources, and what its shorthands stand for."""

from __future__ import annotations

import pytest

from barnabas.cli.acl.command import _rules, add, check
from barnabas.cli.acl.resources import check_rules, operations_of, principal_of, resource_of, shown
from barnabas.cli.common.failure import USAGE, Failure


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("alice", "User:alice"),
        ("User:alice", "User:alice"),
        ("*", "User:*"),
        ("Group:x", "Group:x"),
        ("CN=a,O=b", "User:CN=a,O=b"),
    ],
)
def test_users(said: str, meant: str) -> None:
    assert principal_of(said) == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("topic:orders", ("topic", "orders", "literal")),
        ("topic:orders-*", ("topic", "orders-", "prefixed")),
        ("topic:*", ("topic", "*", "literal")),
        ("group:a:b", ("group", "a:b", "literal")),
        ("transactional-id:shop", ("transactional-id", "shop", "literal")),
        ("cluster", ("cluster", "kafka-cluster", "literal")),
        ("user:alice", ("user", "User:alice", "literal")),
        ("user:User:alice", ("user", "User:alice", "literal")),
        ("user:team-*", ("user", "User:team-", "prefixed")),
        ("user:*", ("user", "*", "literal")),
        ("delegation-token:3f2a", ("delegation-token", "3f2a", "literal")),
    ],
)
def test_resources(said: str, meant: tuple[str, str, str]) -> None:
    assert resource_of(said) == meant


@pytest.mark.parametrize("said", ["orders", "topic:", "table:orders", "cluster:mine", ""])
def test_what_is_no_resource_is_refused_with_a_way_out(said: str) -> None:
    with pytest.raises(Failure) as refused:
        resource_of(said)
    assert refused.value.code == USAGE
    assert "topic:orders" in refused.value.line()


def test_shorthands() -> None:
    rules = _rules("alice", None, None, ["orders"], ["views"], "billing", "shop", "allow", "*")
    assert {(shown(rule), rule.operation) for rule in rules} == {
        ("topic:orders", "write"),
        ("topic:orders", "describe"),
        ("topic:orders", "create"),
        ("topic:views", "read"),
        ("topic:views", "describe"),
        ("group:billing", "read"),
        ("group:billing", "describe"),
        ("transactional-id:shop", "write"),
        ("transactional-id:shop", "describe"),
    }
    assert {rule.principal for rule in rules} == {"User:alice"}


def test_what_makes_no_sense() -> None:
    for operation, consumer, words in (
        ("read", None, "an operation goes with a resource"),
        (None, ["orders"], "--consumer needs --group"),
        (None, None, "nothing to allow or deny"),
    ):
        with pytest.raises(Failure) as refused:
            _rules("alice", operation, None, None, consumer, None, None, "allow", "*")
        assert words in refused.value.line()


def test_operations() -> None:
    assert operations_of("READ, alter_configs") == ["read", "alter-configs"]


@pytest.mark.parametrize(
    ("operation", "resource", "told"),
    [
        ("raed", "topic:orders", "there is no 'raed'"),
        ("idempotent-write", "topic:orders", "a topic has no operation 'idempotent-write'"),
    ],
)
def test_check_looks_at_its_words_before_it_asks_a_node(operation: str, resource: str, told: str) -> None:
    with pytest.raises(Failure, match=told) as refused:
        check("alice", operation, resource, bootstrap="127.0.0.1:1")  # nobody listens there
    assert refused.value.code == USAGE


@pytest.mark.parametrize(
    ("operation", "resource", "told"),
    [
        ("read,idempotent-write", "topic:orders", "a topic has no operation 'idempotent-write'. It has read, write, "),
        ("write", "group:billing", "a group has no operation 'write'. It has read, describe, delete, "),
        ("read", "cluster", "a cluster has no operation 'read'. It has create, "),
        ("raed", "topic:orders", "there is no 'raed'"),
        ("any", "topic:orders", "there is no 'any'"),
    ],
)
def test_rules_that_mean_nothing_are_not_added(operation: str, resource: str, told: str) -> None:
    with pytest.raises(Failure) as refused:
        add("alice", operation, resource, bootstrap="127.0.0.1:1")  # nobody listens there
    assert told in refused.value.line() and refused.value.code == USAGE


@pytest.mark.parametrize(
    ("operation", "resource"),
    [
        ("two-phase-commit", "transactional-id:shop"),
        ("create-tokens", "user:alice"),
        ("describe", "delegation-token:x"),
    ],
)
def test_words_that_librdkafka_does_not_know(operation: str, resource: str) -> None:
    (rule,) = _rules("bob", operation, resource, None, None, None, None, "allow", "*")
    check_rules([rule, *_rules("bob", "all", resource, None, None, None, None, "allow", "*")])
    assert shown(rule) == resource

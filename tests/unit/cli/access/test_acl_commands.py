"""`barnabas acl` against a secured node: rules are added, decide, are listed and removed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from barnabas.testing import RunningNode
from tests.unit.cli.typed import Typed

LogIn = Callable[[str], None]
pytestmark = pytest.mark.usefixtures("admin")


def test_a_rule_decides_until_it_is_removed(typed: Typed) -> None:
    asked = ("acl", "check", "bob", "read", "topic:orders")
    said = typed(*asked)
    assert said.code == 1 and said.out.startswith("not allowed: ")
    assert typed("acl", "add", "bob", "read,write", "topic:orders").out == "added 2 rules for User:bob\n"
    said = typed(*asked)
    assert said.code == 0 and said.out.startswith("allowed: ")
    assert typed(*asked, "--json").json()["allowed"] is True
    assert "topic:orders User:bob allow read *" in typed("acl", "list", "--user", "bob").lines()
    assert typed("acl", "add", "bob", "read", "topic:orders", "--deny", "--host", "10.0.0.7").code == 0
    assert typed(*asked).code == 0
    assert typed(*asked, "--host", "10.0.0.7").code == 1
    said = typed("acl", "remove", "bob", "--all")
    assert said.code == 2 and "Remove 3 rules of User:bob? Nobody is here to answer." in said.err
    assert typed("acl", "remove", "bob", "--all", "--yes").out == "removed 3 rules of User:bob\n"
    assert typed(*asked).code == 1


def test_shorthands_give_what_a_client_needs(typed: Typed) -> None:
    assert typed("acl", "add", "carl", "--consumer", "views", "--group", "billing").code == 0
    rows = typed("acl", "list", "--user", "carl", "--json").json()
    assert {(row["resource_type"], row["resource_name"], row["operation"]) for row in rows} == {
        ("topic", "views", "read"), ("topic", "views", "describe"),
        ("group", "billing", "read"), ("group", "billing", "describe"),
    }  # fmt: skip
    assert len(typed("acl", "list", "--resource", "group:billing", "--json").json()) == 2
    gone = typed("acl", "remove", "carl", "--consumer", "views", "--group", "billing", "--yes")
    assert gone.out == "removed 4 rules of User:carl\n"
    assert typed("acl", "list", "--user", "carl").out.startswith("no such rules. Add one: ")


def test_prefixes_are_found_by_what_they_match(typed: Typed) -> None:
    assert typed("acl", "add", "dana", "write", "topic:team-*").code == 0
    assert "topic:team-* User:dana allow write *" in typed("acl", "list", "--resource", "topic:team-a").lines()
    assert "dana" in typed("acl", "list", "--resource", "topic:team-*").out
    assert typed("acl", "check", "dana", "write", "topic:team-b").code == 0


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("check", "bob", "read,write", "topic:orders"), 2, "one operation at a time"),
        (("check", "bob", "read", "topic:orders*"), 2, "'topic:orders*' is many resources"),
        (("remove", "nobody", "--all", "--yes"), 1, "User:nobody has no such rule. See what there is: barnabas acl"),
    ],
)
def test_what_cannot_be_answered(typed: Typed, words: tuple[str, ...], code: int, told: str) -> None:
    said = typed("acl", *words)
    assert said.code == code and told in said.err and said.err.count("\n") == 1


def test_a_user_without_rights_may_not_add_any(typed: Typed, log_in: LogIn) -> None:
    log_in("alice")
    said = typed("acl", "add", "alice", "all", "cluster")
    assert said.code == 1 and said.err.endswith("add rules: the cluster refused it: cluster authorization failed\n")


def test_a_cluster_without_access_control(
    typed: Typed, barnabas_node: RunningNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BARNABAS_PROFILE")
    said = typed("acl", "list", "-b", barnabas_node.bootstrap)
    assert said.code == 1 and "access control is off in this cluster. Start the nodes with" in said.err
    said = typed("acl", "check", "bob", "read", "topic:x", "-b", barnabas_node.bootstrap)
    assert said.code == 0 and said.out.startswith("allowed: ")

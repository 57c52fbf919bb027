"""Users, rules, quotas and the cluster itself by the console's own API, and what roles and sessions allow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.console.options import Role
from barnabas.testing import RunningNode, running_node
from tests.support.members import until
from tests.unit.console.served import Browser, console

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    settings = {
        "authorizer.class.name": AUTHORIZER,
        "super.users": "User:ANONYMOUS",
        "delegation.token.secret.key": "a secret of these tests",
    }
    with running_node(settings) as running:
        yield running


@pytest.fixture(scope="module")
def browser(node: RunningNode) -> Iterator[Browser]:
    with console(node.bootstrap) as port:
        yield Browser(port)


# --- users -----------------------------------------------------------------------------------------------------------


def test_a_user_is_made_gets_a_password_and_is_deleted(browser: Browser) -> None:
    shown = browser.page("POST", "/access/users", {"name": "ada"})
    assert shown["name"] == "ada" and len(shown["password"]) > 20
    assert browser.page("PUT", "/access/users/ada/password", {"password": "chosen"})["password"] is None
    assert {"name": "ada", "mechanisms": ["SCRAM-SHA-256", "SCRAM-SHA-512"]} in browser.page("GET", "/access/users")
    assert browser.refused("POST", "/access/users", {"name": "ada"}) == (409, "user ada exists")
    browser.page("DELETE", "/access/users/ada")
    assert browser.refused("DELETE", "/access/users/ada")[0] == 404
    assert browser.refused("PUT", "/access/users/ada/password", {})[0] == 404


@pytest.mark.parametrize(
    "body", [{"name": ""}, {"name": "x", "password": ""}, {"name": "x", "password": "p" * 2000}, {}]
)
def test_a_user_that_cannot_be(browser: Browser, body: object) -> None:
    assert browser.refused("POST", "/access/users", body)[0] == 400
    assert all(each["name"] != "x" for each in browser.page("GET", "/access/users"))


# --- rules -----------------------------------------------------------------------------------------------------------


def test_rules_decide_who_may(browser: Browser) -> None:
    assert browser.page("GET", "/access")["on"]
    added = browser.page("POST", "/access/rules", {"user": "bob", "kind": "consumer", "topic": "orders", "group": "g"})
    rules = [each for each in browser.page("GET", "/access/rules") if each["principal"] == "User:bob"]
    assert len(rules) == added["added"] >= 3
    who = browser.page("GET", "/access/who", resource="topic:orders", operation="read")
    allowed = {each["principal"]: each["allowed"] for each in who["who"]}
    assert who["on"] and allowed["User:bob"] and not allowed["anybody else"] and allowed["User:ANONYMOUS"]
    gone = [{key: each[key] for key in each if key != "resource"} for each in rules]
    assert browser.page("DELETE", "/access/rules", {"rules": gone})["removed"] == len(rules)
    assert not any(each["principal"] == "User:bob" for each in browser.page("GET", "/access/rules"))


@pytest.mark.parametrize(
    "body",
    [
        {"user": "bob", "kind": "consumer", "topic": "orders"},  # without a group
        {"user": "bob", "kind": "producer"},
        {"user": "bob", "operations": ["read"], "resource": "nonsense"},
        {"user": "bob", "operations": ["fly"], "resource": "topic:orders"},
        {"user": "bob", "operations": ["read"], "resource": "topic:orders", "permission": "perhaps"},
        {"user": "", "operations": ["read"], "resource": "topic:orders"},
    ],
)
def test_a_rule_that_cannot_be(browser: Browser, body: object) -> None:
    before = browser.page("GET", "/access/rules")
    assert browser.refused("POST", "/access/rules", body)[0] == 400
    assert browser.page("GET", "/access/rules") == before


@pytest.mark.parametrize(
    "body",
    [
        {"user": "tx", "kind": "transactional", "transactional_id": "shop"},
        {"user": "tx", "kind": "producer", "topic": "orders", "transactional_id": "shop"},
        {"user": "tx", "operations": ["all"], "resource": "cluster", "permission": "deny"},
    ],
)
def test_shorthands_of_rules(browser: Browser, body: object) -> None:
    assert browser.page("POST", "/access/rules", body)["added"] >= 1


def test_who_may_is_asked_of_one_resource(browser: Browser) -> None:
    assert "many resources" in browser.refused("GET", "/access/who", resource="topic:orders*", operation="read")[1]
    assert browser.refused("DELETE", "/access/rules", {"rules": []})[0] == 400


# --- quotas ----------------------------------------------------------------------------------------------------------


def test_a_quota_is_set_and_removed(browser: Browser) -> None:
    asked = {"entity": {"user": "carl"}, "values": {"producer_byte_rate": "1MB"}}
    browser.page("PUT", "/access/quotas", asked)
    (row,) = [each for each in browser.page("GET", "/access/quotas") if each["entity"] == {"user": "carl"}]
    assert row["values"]["producer_byte_rate"] in (1_000_000, 1_048_576)
    browser.page("PUT", "/access/quotas", {**asked, "values": {"producer_byte_rate": None}})
    assert all(each["entity"] != {"user": "carl"} for each in browser.page("GET", "/access/quotas"))
    assert browser.page("GET", "/access/throttled") == {"rows": None}


@pytest.mark.parametrize(
    ("entity", "values"),
    [
        ({}, {"producer_byte_rate": "1"}),
        ({"team": "x"}, {"producer_byte_rate": "1"}),
        ({"user": "carl"}, {}),
        ({"user": "carl"}, {"nothing": "1"}),
        ({"user": "carl"}, {"producer_byte_rate": "fast"}),
        ({"user": "carl"}, {"connection_creation_rate": "1"}),
        ({"ip": "here"}, {"connection_creation_rate": "1"}),
        ({"ip": "10.0.0.1", "user": "carl"}, {"connection_creation_rate": "1"}),
    ],
)
def test_a_quota_that_cannot_be(browser: Browser, entity: object, values: object) -> None:
    assert browser.refused("PUT", "/access/quotas", {"entity": entity, "values": values})[0] == 400


# --- the cluster -----------------------------------------------------------------------------------------------------


def test_settings_of_a_node(browser: Browser) -> None:
    (node,) = browser.page("GET", "/cluster")["nodes"]
    address = f"/cluster/nodes/{node['id']}/settings"
    browser.page("PATCH", address, {"changes": {"message.max.bytes": "2000000"}})

    def value() -> object:
        return {each["name"]: each["value"] for each in browser.page("GET", address)}["message.max.bytes"]

    assert value() == "2000000"
    browser.page("PATCH", address, {"changes": {"message.max.bytes": None}})
    assert value() != "2000000"
    assert browser.refused("PATCH", address, {"changes": {"message.max.bytes": "large"}})[0] >= 400


def test_a_plan_and_moves_that_cannot_be(browser: Browser) -> None:
    browser.page("POST", "/topics", {"name": "placed"})
    (node,) = browser.page("GET", "/cluster")["nodes"]
    assert browser.page("GET", "/cluster/plan")["moves"] == []
    assert browser.refused("GET", "/cluster/plan", drain=99)[0] == 404
    assert browser.refused("GET", "/cluster/plan", drain=node["id"])[0] == 409  # nobody else has room
    move = {"topic": "placed", "partition": 0, "replicas": [node["id"]], "new_replicas": [node["id"]]}
    for changed, told in (
        ({"replicas": [7]}, "has changed since it was planned"),
        ({"new_replicas": []}, "needs replicas"),
        ({"new_replicas": [99]}, "there is no node 99"),
    ):
        body = {"title": "by hand", "moves": [{**move, **changed}]}
        assert told in browser.refused("POST", "/cluster/moves", body)[1]
    assert browser.refused("POST", "/cluster/moves", {"title": "t", "moves": []})[0] == 400
    assert browser.refused("POST", "/cluster/moves", {"title": "t", "moves": [move], "at_once": 0})[0] == 400
    assert browser.refused("POST", "/cluster/elections", {"partitions": []})[0] == 400
    browser.page("POST", "/cluster/elections", {"partitions": [{"topic": "placed", "partition": 0}]})
    # What is not under way, or gone with its topic, needs no taking back.
    browser.page("POST", "/cluster/moves/cancel", {"partitions": [{"topic": "gone", "partition": 0}]})
    browser.page("DELETE", "/cluster/moves")
    assert "still has" in browser.refused("DELETE", f"/cluster/nodes/{node['id']}")[1]


def test_a_token_needs_a_login(browser: Browser) -> None:
    """A token is for whoever has logged in; nobody has, here."""
    assert 400 <= browser.refused("POST", "/access/tokens", {})[0] < 500
    assert browser.refused("POST", "/access/tokens", {"hours": 0})[0] == 400


def test_changes_are_written_down(browser: Browser) -> None:
    browser.page("POST", "/topics", {"name": "noted"})
    assert any("noted" in str(each) for each in browser.page("GET", "/access/changes"))


# --- sessions and roles ----------------------------------------------------------------------------------------------


def test_a_change_needs_the_token_of_the_session(browser: Browser) -> None:
    address = "/api/clusters/local/topics"
    assert browser.ask("POST", address, {"name": "forged"}, **{"X-CSRF-Token": "guessed"})[0] == 403
    assert browser.ask("POST", address, {"name": "forged"}, Cookie="none=1")[0] == 401
    assert browser.ask("GET", "/api/session", **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert all(each["name"] != "forged" for each in browser.page("GET", "/topics")["topics"])


def test_addresses_that_are_nobody_s(browser: Browser) -> None:
    assert browser.ask("GET", "/api/nothing")[0] == 404
    assert browser.ask("GET", "/api/clusters/other/topics")[0] in (401, 404)
    assert browser.raw("GET", "/topics/orders")[0] == 200  # a page, whose script reads the address
    assert browser.raw("GET", "/api/session", Host="elsewhere.example")[0] >= 400


def test_a_role_that_only_reads(node: RunningNode) -> None:
    only = Role(name="support", users=("*",), data=False, read_only=True)
    with console(node.bootstrap, only) as port:
        person = Browser(port)
        (cluster,) = person.session["clusters"]
        assert not cluster["may_change"] and not cluster["may_see_records"]
        assert person.refused("POST", "/topics", {"name": "refused"})[0] == 403
        assert person.refused("GET", "/topics/placed/messages")[0] == 403
        assert person.page("GET", "/topics")["topics"] is not None


def test_a_cluster_that_is_down_is_said(node: RunningNode) -> None:
    with console("127.0.0.1:1") as port:
        person = Browser(port)
        until(lambda: person.ask("GET", "/api/clusters/local/access/users")[0] == 503, "it is told", 30)

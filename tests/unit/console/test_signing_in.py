"""A console in front of a secured cluster, or with users of its own: who gets in, and what is theirs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.console.options import Role
from barnabas.console.people.passwords import hashed
from barnabas.testing import RunningNode, running_node
from tests.unit.console.served import Browser, console

USERS = {"alice": "alice-secret"}


@pytest.fixture(scope="module")
def secured() -> Iterator[RunningNode]:
    with running_node({"delegation.token.secret.key": "a secret"}, secure=True, users=USERS) as node:
        yield node


@pytest.fixture(scope="module")
def port(secured: RunningNode) -> Iterator[int]:
    """Its own settings have no user: people bring theirs."""
    known = secured.login()
    settings = {name: value for name, value in known.items() if not name.startswith("sasl.")}
    mechanism = {"sasl.mechanism": known["sasl.mechanism"]}
    with console(secured.bootstrap, settings={**settings, **mechanism}) as served:
        yield served


@pytest.fixture
def browser(port: int) -> Browser:
    return Browser(port)


def test_nobody_sees_anything_before_signing_in(browser: Browser) -> None:
    (cluster,) = browser.session["clusters"]
    assert cluster["asks_for_login"] and cluster["user"] is None
    assert browser.refused("GET", "/topics") == (401, "local asks for a login")


def test_the_cluster_decides_about_its_users(browser: Browser) -> None:
    status, told = browser.sign_in("alice", "wrong")
    assert status == 401 and "wrong" not in told["error"].replace("are wrong", "")
    assert browser.sign_in("admin", "admin-secret")[0] == 200
    assert browser.session["clusters"][0]["user"] == "admin"
    assert browser.page("GET", "/topics") is not None
    status, told = browser.ask("POST", "/api/sign-out", {})
    assert status == 200 and told["clusters"][0]["user"] is None
    assert browser.ask("GET", "/api/clusters/local/topics")[0] == 401


def test_the_session_changes_with_the_login(browser: Browser) -> None:
    """Whoever had the cookie of before has nothing."""
    before = dict(browser._fields)
    assert browser.sign_in("admin", "admin-secret")[0] == 200
    assert browser._fields["Cookie"] != before["Cookie"]
    browser._fields = before
    assert browser.ask("GET", "/api/clusters/local/topics")[0] == 401


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"cluster": "local"}', b'{"cluster": "x", "user": "a", "password": "b"}']
)
def test_what_is_no_login(browser: Browser, body: bytes) -> None:
    status, told = browser.ask("POST", "/api/sign-in", body)
    assert 400 <= status < 500 and told["error"]


def test_tokens_are_made_renewed_and_ended(browser: Browser) -> None:
    assert browser.sign_in("alice", "alice-secret")[0] == 200
    made = browser.page("POST", "/access/tokens", {"renewers": ["bob"], "hours": 48})
    assert made["owner"] == "alice" and made["hmac"]
    (listed,) = browser.page("GET", "/access/tokens")
    assert (listed["id"], listed["renewers"], "hmac" in listed) == (made["id"], ["bob"], False)
    assert browser.page("POST", f"/access/tokens/{made['id']}/renew", {})["expires_ms"] >= made["expires_ms"]
    browser.page("DELETE", f"/access/tokens/{made['id']}")
    assert browser.page("GET", "/access/tokens") == []
    assert browser.refused("DELETE", f"/access/tokens/{made['id']}") == (
        404,
        "there is no such token that you may see",
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"hours": 0}, "a token lives for up to"),
        ({"hours": 1e9}, "a token lives for up to"),
        ({"renewers": ["x"] * 101}, "at most 100 renewers"),
    ],
)
def test_a_token_that_cannot_be(browser: Browser, body: object, told: str) -> None:
    assert browser.sign_in("alice", "alice-secret")[0] == 200
    status, error = browser.refused("POST", "/access/tokens", body)
    assert status == 400 and told in error


def test_what_the_user_may_not_is_refused_by_the_cluster(browser: Browser) -> None:
    assert browser.sign_in("alice", "alice-secret")[0] == 200
    status, error = browser.refused("POST", "/topics", {"name": "mine", "partitions": 1})
    assert (status, error) == (409, "the topic was not created: Authorization failed.")


def test_users_of_the_console_itself() -> None:
    """For a cluster where nobody logs in; roles are by their names."""
    support = Role("support", ("ada",), read_only=True)
    with running_node() as node, console(node.bootstrap, support, users={"ada": hashed("secret")}) as port:
        browser = Browser(port)
        assert browser.refused("GET", "/topics") == (401, "local asks for a login")
        assert browser.sign_in("ada", "wrong")[0] == 401 and browser.sign_in("nobody", "secret")[0] == 401
        assert browser.sign_in("ada", "secret")[0] == 200
        assert browser.session["clusters"][0]["role"] == "support"
        status, error = browser.refused("POST", "/topics", {"name": "mine", "partitions": 1})
        assert (status, error) == (403, "this console is read-only for you")

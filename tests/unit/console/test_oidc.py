"""What a provider says is checked: its discovery document, and that an ID token is for this visit."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from barnabas.console.clusters.connection import Connections
from barnabas.console.options import ClusterOptions, ConsoleOptions
from barnabas.console.people.oidc import Attempt, OidcOptions, checked_provider, is_private, user_of
from barnabas.console.people.sessions import Login, Sessions
from barnabas.console.problems import Problem, SignInFirst
from barnabas.console.web.oidc import OidcSignIn

OPTIONS = OidcOptions("https://login.example.org/realm", "console", "a secret")
DOCUMENT = {
    "issuer": "https://login.example.org/realm",
    "authorization_endpoint": "https://login.example.org/authorize?tenant=7",
    "token_endpoint": "https://login.example.org/token",
}


def attempt() -> Attempt:
    return Attempt("orders", "http://127.0.0.1:8080/api/oidc/back", 0.0)


def token(visit: Attempt, **changed: object) -> str:
    claims = {"iss": OPTIONS.issuer, "aud": "console", "exp": 100, "nonce": visit.nonce, "sub": "ada", **changed}
    return f"e30.{base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b'=').decode()}.sig"


def test_the_address_of_a_visit_has_what_the_provider_needs_and_no_secret() -> None:
    visit = attempt()
    address = visit.address(checked_provider(json.dumps(DOCUMENT).encode(), OPTIONS), OPTIONS)
    asked = parse_qs(urlsplit(address).query)
    assert asked["tenant"] == ["7"] and asked["state"] == [visit.state] and asked["code_challenge_method"] == ["S256"]
    assert visit.verifier not in address and "secret" not in address
    assert len({(each := attempt()).state, each.nonce, each.verifier, visit.state, visit.nonce, visit.verifier}) == 6
    assert visit.state not in repr(visit) and "secret" not in repr(OPTIONS)


@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": "https://evil.example.org"},
        {"token_endpoint": "http://login.example.org/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": None},
    ],
)
def test_a_discovery_document_that_is_not_to_be_trusted(changed: dict[str, str | None]) -> None:
    with pytest.raises(Problem):
        checked_provider(json.dumps(DOCUMENT | changed).encode(), OPTIONS)


def test_who_has_signed_in() -> None:
    visit = attempt()
    assert user_of(token(visit), visit, OPTIONS, 50) == "ada"
    assert user_of(token(visit, aud=["kafka", "console"]), visit, OPTIONS, 50) == "ada"


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://evil.example.org"},
        {"aud": "another"},
        {"aud": None},
        {"exp": 49},
        {"exp": "100"},
        {"nonce": "of another visit"},
        {"nonce": None},
        {"sub": ""},
        {"sub": ["ada"]},
    ],
)
def test_a_token_that_is_not_for_this_visit(changed: dict[str, object]) -> None:
    visit = attempt()
    with pytest.raises(SignInFirst):
        user_of(token(visit, **changed), visit, OPTIONS, 50)


@pytest.mark.parametrize("text", ["", "a", "a.b.c", "a.e30", "a." + "W" * 10_000, "a.\u00e9.b"])
def test_what_is_no_token(text: str) -> None:
    with pytest.raises(SignInFirst):
        user_of(text, attempt(), OPTIONS, 50)


def test_plain_http_is_for_this_machine_only() -> None:
    assert is_private("https://x.org/a") and is_private("http://127.0.0.1:1/a") and is_private("http://localhost/")
    for url in ("http://x.org", "http://10.0.0.1/", "ftp://127.0.0.1", "", "https://", "http://localhost.evil.org/"):
        assert not is_private(url), url


@pytest.mark.parametrize(("left_s", "works"), [(20.0, True), (-1.0, False)])
def test_a_provider_that_is_down_ends_nobodys_session_before_its_time(
    left_s: float, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: object) -> bytes:
        raise Problem("the provider cannot be asked", status=502)

    monkeypatch.setattr(OidcSignIn, "_fetch", down)
    cluster = ClusterOptions("c", "127.0.0.1:1")
    sessions = Sessions()
    session = sessions.begin()
    login = session.logins["c"] = Login("alice", expires=time.time() + left_s, refresh_token="r")
    signing_in = OidcSignIn(ConsoleOptions((cluster,), oidc=OPTIONS), sessions, Connections([cluster], sessions))
    if works:
        assert asyncio.run(signing_in.renewed(session, "c", login)) is login
    else:
        with pytest.raises(Problem, match="cannot be asked"):
            asyncio.run(signing_in.renewed(session, "c", login))
    assert session.logins["c"] is login

"""Signing in at a real OpenID Connect provider, and acting at the cluster with its token."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.console.secured import console_with, person
from tests.support.console import ConsoleProcess
from tests.support.oauth_provider import Provider
from tests.support.process import free_port
from tests.support.servers import BarnabasNode
from tests.support.wire import CREATE_ACLS, WireClient, create_topic

VALIDATOR = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
LOGIN_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
SHORT_SECONDS = 33  # the console renews a token half a minute before it ends
GRANTED = [
    {"requestParam": "grant_type", "match": grant, "claims": {"sub": "alice", "aud": ["kafka", "console"]}}
    for grant in ("authorization_code", "refresh_token")
]


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    running = Provider(tmp_path_factory.mktemp("provider"), GRANTED, SHORT_SECONDS)
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def node(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BarnabasNode, int]]:
    """One that knows alice by tokens of the provider, and lets her see `hers`; with the port for it."""
    ports = {"OPEN": free_port(), "TOKENS": free_port()}
    told = "listener.name.tokens.oauthbearer.sasl."
    settings = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": "OPEN:PLAINTEXT,TOKENS:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{told}server.callback.handler.class": VALIDATOR,
        f"{told}jaas.config": f"{LOGIN_MODULE};",
        f"{told}oauthbearer.jwks.endpoint.url": provider.url("cluster", "jwks"),
        f"{told}oauthbearer.expected.issuer": provider.url("cluster", "").rstrip("/"),
        f"{told}oauthbearer.expected.audience": "kafka",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    running = BarnabasNode(tmp_path_factory.mktemp("tokens"), settings, port=ports["OPEN"])
    try:
        running.start()
        with WireClient(running.bootstrap) as client:
            create_topic(client, "hers")
            create_topic(client, "not-hers")
            rule = {"resource_pattern_type": 3, "principal": "User:alice", "host": "*", "operation": 2}
            named = {"resource_type": 2, "resource_name": "hers", "permission_type": 3}
            client.call(CREATE_ACLS, 3, {"creations": [rule | named]})
        yield running, ports["TOKENS"]
    finally:
        running.stop()


def config(provider: Provider, port: int) -> str:
    return f'''
[clusters.tokens]
bootstrap = "127.0.0.1:{port}"
security.protocol = "SASL_PLAINTEXT"
sasl.mechanism = "OAUTHBEARER"
[oidc]
issuer = "{provider.url("cluster", "").rstrip("/")}"
client_id = "console"
client_secret = "a-secret-of-a-test"
scope = "openid offline_access"
'''


@pytest.fixture(scope="module")
def console(
    provider: Provider, node: tuple[BarnabasNode, int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleProcess]:
    with console_with(tmp_path_factory.mktemp("oidc"), config(provider, node[1])) as serving:
        yield serving


def test_a_person_signs_in_at_the_provider_and_sees_what_they_may(browser: Browser, console: ConsoleProcess) -> None:
    with person(browser, console) as alice:
        page = alice.open("/c/tokens/topics")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.get_by_role("link", name="Sign in").click()
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        expect(page.locator(".who")).to_have_text("alice")
        page.get_by_role("link", name="Topics", exact=True).click()
        expect(page.get_by_role("link", name="hers", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="not-hers")).to_be_hidden()
        away = next(url for url in asked if "/cluster/authorize" in url)
        assert "code_challenge_method=S256" in away and "nonce=" in away and "a-secret" not in away
        session = next(each for each in page.context.cookies() if each["name"] == f"barnabas-console-{console.port}")
        assert session["sameSite"] == "Strict" and session["httpOnly"]
        asked.clear()
        for _ in range(4):  # a look every two seconds; the token is renewed every three
            with page.expect_response(re.compile("/api/clusters/tokens/topics$")) as answered:
                pass
            assert answered.value.status == 200
        assert not [url for url in asked if url.endswith("/live")]  # a stream goes on with the new token
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("link", name="Sign in")).to_be_visible()


def ask(console: ConsoleProcess, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=20)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def test_a_code_that_another_browser_brings_is_not_taken(console: ConsoleProcess) -> None:
    status, headers, _ = ask(console, "/api/oidc/leave?cluster=tokens")
    assert status == 303
    state = re.search("state=([^&]+)", headers["location"])
    assert state is not None
    for sent in ("?state=made-up&code=x", f"?state={state[1]}&code=x", f"?state={state[1]}&code=x", ""):
        status, _, body = ask(console, f"/api/oidc/back{sent}")
        assert status == 400
        assert "is not known here" in json.loads(body)["error"]


def test_what_the_provider_refuses_is_told_on_the_page_to_sign_in(browser: Browser, console: ConsoleProcess) -> None:
    with person(browser, console) as person_:
        page = person_.open("/c/tokens/topics")
        left = page.context.request.get(f"{console.address}/api/oidc/leave?cluster=tokens", max_redirects=0)
        state = left.headers["location"].partition("state=")[2].partition("&")[0]
        page.goto(f"{console.address}/api/oidc/back?error=denied&error_description=no+<b>way</b>&state={state}")
        expect(page.get_by_role("alert")).to_have_text("the provider did not sign you in: no <b>way</b>")


def test_a_cluster_that_takes_no_passwords_takes_none_here(console: ConsoleProcess) -> None:
    _, headers, body = ask(console, "/api/session")
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=20)
    sent = json.dumps({"cluster": "tokens", "user": "alice", "password": "x"})
    cookie = headers["set-cookie"].partition(";")[0]
    connection.request("POST", "/api/sign-in", sent, {"Cookie": cookie, "X-CSRF-Token": json.loads(body)["csrf"]})
    answer = connection.getresponse()
    assert answer.status == 400 and b"at a provider, not with a password" in answer.read()
    connection.close()


def test_a_provider_that_does_not_answer_is_said(
    node: tuple[BarnabasNode, int], provider: Provider, tmp_path: Path
) -> None:
    told = config(provider, node[1]).replace(str(provider.port), str(free_port()))
    with console_with(tmp_path, told) as serving:
        status, _, body = ask(serving, "/api/oidc/leave?cluster=tokens")
        assert status == 502 and "cannot be asked" in json.loads(body)["error"]

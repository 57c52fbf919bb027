"""A provider's keys: fetched, kept, and fetched again for an unknown key, though not as often as strangers like; also
from a provider that is slow, gone, endless or confused."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import time
from collections.abc import Iterator
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.request import Request

import pytest
from joserfc.jwk import ECKey

from barnabas.broker.network.login import jwks
from barnabas.broker.network.login.jwks import FetchedKeys
from barnabas.link.errors import LoginFailed
from barnabas.link.http import HttpFailed, _NoDowngrade, fetch
from barnabas.link.token_endpoint import TokenRequest, fetch_token
from barnabas.model.settings.oauth import OAuthSettings

KEYS = {kid: ECKey.generate_key("P-256").as_dict(private=False) for kid in ("a", "b")}


class Provider(HTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.kids = ["a"]
        self.asked = 0
        self.bodies: list[bytes] = []
        self.how = "well"
        self.url = f"http://127.0.0.1:{self.server_port}/jwks"
        self.slow = threading.Event()


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        self.server.asked += 1
        if self.server.how == "slow":
            self.server.slow.wait(5)
        if self.server.how == "to file":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
            return
        found = {"keys": [{**KEYS[kid], "kid": kid} for kid in self.server.kids]}
        self.answer(b"x" * 3_000_000 if self.server.how == "endless" else json.dumps(found).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(self.headers["Authorization"].encode() + b" " + body)
        if self.server.how == "refusing":
            self.answer(b'{"error":"invalid_client"}', 401)
        else:
            self.answer(b'{"token_type":"Bearer","access_token":"t.o.k"}' if self.server.how == "well" else b"[]")

    def answer(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.slow.set()
    made.shutdown()
    thread.join()
    made.server_close()


def settings(url: str, refresh_ms: int = 3_600_000, backoff_ms: int = 10) -> OAuthSettings:
    return OAuthSettings(False, url, "i", ("a",), "sub", "scope", 30, refresh_ms, backoff_ms, 50, None)


def kids(fetched: FetchedKeys) -> list[str | None]:
    return [key.kid for key in fetched.keys.keys]


async def until(condition: object) -> None:
    async with asyncio.timeout(5):
        while not condition():  # type: ignore[operator]
            await asyncio.sleep(0.005)


async def wait(fetched: FetchedKeys) -> bool:
    ready = fetched.waiting()
    if ready is not None:
        await ready()
    return ready is not None


def test_an_unknown_key_is_asked_for_but_not_by_everybody(provider: Provider) -> None:
    async def run() -> None:
        fetched = FetchedKeys(settings(provider.url), "L", None)
        assert await wait(fetched) and kids(fetched) == ["a"]  # the first fetch, which is under way
        provider.kids = ["a", "b"]  # the provider has a new key
        assert all(await asyncio.gather(*(wait(fetched) for _ in range(500)))) and kids(fetched) == ["a", "b"]
        assert provider.asked == 2
        assert not any([await wait(fetched) for _ in range(500)]) and provider.asked == 2
        fetched.close()

    asyncio.run(run())


def test_it_is_fetched_again_and_a_provider_that_is_gone_takes_no_keys_away(provider: Provider) -> None:
    async def run() -> None:
        fetched = FetchedKeys(settings(provider.url, refresh_ms=20), "L", None)
        await until(lambda: provider.asked >= 3)
        provider.kids = ["b"]
        await until(lambda: kids(fetched) == ["b"])
        provider.how = "endless"
        asked = provider.asked
        await until(lambda: provider.asked > asked + 3)
        assert kids(fetched) == ["b"]
        provider.how, provider.kids = "well", ["a"]
        await until(lambda: kids(fetched) == ["a"])
        fetched.close()

    asyncio.run(run())


def test_a_slow_provider_holds_up_only_who_waits_for_it(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwks, "JWKS_FETCH_SECONDS", 0.2)
    provider.how = "slow"

    async def run() -> None:
        fetched = FetchedKeys(settings(provider.url), "L", None)
        longest, began = 0.0, time.monotonic()
        waiting = asyncio.ensure_future(wait(fetched))
        while not waiting.done():
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)
        assert longest < 0.15 and time.monotonic() - began < 3
        fetched.close()

    asyncio.run(run())


def test_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keys of ours.json"
    file.write_text(json.dumps({"keys": [{**KEYS["a"], "kid": "a"}]}))

    async def run() -> None:
        fetched = FetchedKeys(settings(file.as_uri()), "L", None)
        assert await wait(fetched) and kids(fetched) == ["a"]
        fetched.close()

    asyncio.run(run())


def test_bounds_of_an_answer(provider: Provider) -> None:
    provider.how = "endless"
    with pytest.raises(HttpFailed, match="more than 1000 bytes"):
        fetch(provider.url, timeout_s=5, max_bytes=1000)
    provider.how = "to file"
    with pytest.raises(HttpFailed, match="HTTP 302"):
        fetch(provider.url, timeout_s=5, max_bytes=1000)
    for url in ("file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x"):
        with pytest.raises(HttpFailed, match="only http and https"):
            fetch(url, timeout_s=5, max_bytes=1000)


def test_nobody_is_sent_from_https_to_http() -> None:
    there = Request("https://provider/jwks")
    with pytest.raises(HttpFailed, match="redirects to http, which is not followed"):
        _NoDowngrade().redirect_request(there, io.BytesIO(), 302, "Found", HTTPMessage(), "http://provider/jwks")
    moved = _NoDowngrade().redirect_request(there, io.BytesIO(), 302, "Found", HTTPMessage(), "https://other/jwks")
    assert moved is not None and moved.full_url == "https://other/jwks"


def test_a_token_by_client_credentials(provider: Provider) -> None:
    wanted = TokenRequest(provider.url, "job", "se:cret", "kafka")
    assert "cret" not in repr(wanted)
    assert fetch_token(wanted) == "t.o.k"
    assert provider.bodies == [b"Basic am9iOnNlOmNyZXQ= grant_type=client_credentials&scope=kafka"]
    for how, words in (("refusing", "HTTP 401.*invalid_client"), ("confused", "no access_token")):
        provider.how = how
        with pytest.raises(LoginFailed, match=words):
            fetch_token(wanted)

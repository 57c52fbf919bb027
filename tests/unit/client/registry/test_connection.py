"""The HTTP client: addresses in turn, kept connections, logins, and what goes wrong in one line."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

from barnabas import BadSetting, CannotReach, NotAllowed, Registry, RegistryError
from barnabas.client.serde.registry.cache import Cache
from barnabas.client.serde.registry.schema import Schema
from barnabas.client.serde.registry.settings import registry_settings
from tests.support.certificates import Authority
from tests.unit.client.registry.small_registry import SmallRegistry, served

STRING = Schema("AVRO", '"string"')


def closed_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def test_the_next_address_answers_and_is_kept(small: SmallRegistry) -> None:
    registry = Registry(f"http://127.0.0.1:{closed_port()},{small.url}")
    assert registry.subjects() == []
    registry.register("a", STRING)
    assert registry.subjects() == ["a"]


def test_an_address_that_is_not_ready_is_passed_over(small: SmallRegistry) -> None:
    with served(SmallRegistry()) as other:
        other.answers = [(503, {"error_code": 50301, "message": "starting"})]
        assert Registry(f"{other.url},{small.url}").subjects() == []
        assert (len(other.requests), len(small.requests)) == (1, 1)


def test_nobody_answers() -> None:
    port = closed_port()
    with pytest.raises(CannotReach) as caught:
        Registry(f"http://127.0.0.1:{port}").subjects()
    told = f"cannot reach the registry http://127.0.0.1:{port}: connection refused. Is a registry up?"
    assert str(caught.value) == f"{told} Try: barnabas up --registry"


def test_no_answer_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(CannotReach, match="no answer in time"):
        Registry(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.1).subjects()


def test_a_connection_is_kept_and_opened_again(small: SmallRegistry) -> None:
    registry = Registry(small.url)
    registry.subjects()
    kept = registry._http._kept.connections[0]
    registry.subjects()
    assert registry._http._kept.connections[0] is kept
    kept.sock.shutdown(socket.SHUT_RDWR)  # what a server does that closes idle connections
    assert registry.subjects() == []
    others: list[Any] = []
    thread = threading.Thread(target=lambda: others.append((registry.subjects(), registry._http._kept.connections[0])))
    thread.start()
    thread.join()
    assert others[0][1] is not registry._http._kept.connections[0]


def test_a_fork_opens_its_own_connection(small: SmallRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(small.url)
    registry.subjects()
    kept = registry._http._kept.connections[0]
    monkeypatch.setattr("os.getpid", lambda: os.getppid())
    registry.subjects()
    assert registry._http._kept.connections[0] is not kept


@pytest.mark.parametrize(
    ("url", "settings", "sent"),
    [
        ("", {"basic_auth_user_info": "ada:secret"}, "Basic YWRhOnNlY3JldA=="),
        ("", {"schema.registry.basic.auth.user.info": "ada:secret"}, "Basic YWRhOnNlY3JldA=="),
        ("ada:secret@", {}, "Basic YWRhOnNlY3JldA=="),
        ("", {"bearer.auth.token": "abc"}, "Bearer abc"),
    ],
)
def test_logins(small: SmallRegistry, url: str, settings: dict[str, object], sent: str) -> None:
    registry = Registry(small.url.replace("://", f"://{url}"), **settings)
    registry.subjects()
    assert small.headers[0]["Authorization"] == sent
    assert "secret" not in repr(registry)
    assert "secret" not in str(registry._http.settings)
    assert "YWRhOnN" not in repr(registry._http.settings)


def test_refusals_are_one_line(small: SmallRegistry) -> None:
    small.answers = [(409, {"error_code": 409, "message": "Schema being registered is\n\x1b[31mincompatible"})]
    with pytest.raises(RegistryError) as caught:
        Registry(small.url).register("a/b", STRING)
    assert str(caught.value) == "register a schema of 'a/b': Schema being registered is ?[31mincompatible"
    assert (caught.value.status, caught.value.error_code) == (409, 409)
    small.answers = [(401, {"error_code": 40101, "message": ""})]
    with pytest.raises(NotAllowed, match="list subjects: the registry refused: wrong user, password or token"):
        Registry(small.url).subjects()
    assert small.requests[0] == "POST /subjects/a%2Fb/versions"


def test_what_is_no_registry() -> None:
    small = SmallRegistry()
    with served(small):
        small.answers = [(200, {})]
        with pytest.raises(RegistryError, match="the registry's answer has no id"):
            Registry(small.url).register("a", STRING)
        small.answers = [(200, {"id": 1})]
        assert Registry(small.url).register("a", STRING).id == 1


@pytest.mark.parametrize(
    ("url", "settings", "told"),
    [
        ("127.0.0.1:8081", {}, "is not the address of a registry: write it as"),
        ("http://user:secret@:x", {}, "':x' is not the address"),
        ("", {}, "the address of a registry is a URL"),
        (None, {"basic.auth.user.info": "ada"}, "basic.auth.user.info is user:password"),
        (None, {"bearer.auth.token": "a b"}, "has white space"),
        (None, {"bearer.auth.token": "a", "basic.auth.user.info": "a:b"}, "with a user or with a token"),
        (None, {"auto.register.schemas": "1"}, "a registry has no setting 'auto.register.schemas'"),
        (None, {"basic.auth.credentials.source": "SASL_INHERIT"}, "is not supported: USER_INFO or URL"),
        (None, {"timeout": "soon"}, "is a number of seconds, not 'soon'"),
        ("https://a", {"ssl.ca.location": "/none"}, "certificates for the registry cannot be read: no such file"),
    ],
)
def test_settings_that_cannot_be(url: str | None, settings: dict[str, object], told: str) -> None:
    with pytest.raises(BadSetting, match=told) as caught:
        registry_settings(url, settings)
    assert "secret" not in str(caught.value)


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(registry_settings("https://a/base/, http://[::1]:80", {})) == "https://a:443/base, http://[::1]:80"
    assert str(registry_settings(None, {})) == "http://127.0.0.1:8081"
    monkeypatch.setenv("BARNABAS_REGISTRY", "http://b:1")
    assert str(registry_settings(None, {})) == "http://b:1"
    assert str(registry_settings(None, {"url": "http://c:1"})) == "http://c:1"


def test_the_cache_is_bounded() -> None:
    cache: Cache[int, int] = Cache(3)
    for number in range(10):
        cache.put(number, number)
    assert [cache.get(number) for number in (6, 7, 8, 9)] == [None, 7, 8, 9]


def test_tls_and_a_certificate_of_ones_own(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    mine, server = authority.issue("me"), authority.issue("registry")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.certificate, server.key)
    context.load_verify_locations(authority.file)
    context.verify_mode = ssl.CERT_REQUIRED
    trusted = {"ssl.ca.location": str(authority.file)}
    own = {"ssl.certificate.location": str(mine.certificate), "ssl.key.location": str(mine.key)}
    with served(SmallRegistry(), context) as small:
        assert Registry(small.url, **trusted, **own).subjects() == []
        with pytest.raises(CannotReach, match="certificate verify failed"):
            Registry(small.url, **own).subjects()


def test_another_protocol_than_the_address_says(small: SmallRegistry) -> None:
    with pytest.raises(CannotReach, match="speaks no TLS: write http://"):
        Registry(small.url.replace("http:", "https:")).subjects()

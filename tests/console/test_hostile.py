"""Whatever is sent to an address of the console is answered by one line of JSON, never by a traceback or a 500."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.console.pages import ROUTES
from barnabas.console.people.sessions import COOKIE
from barnabas.console.web.bodies import BODY_MAX_BYTES
from barnabas.console.web.calls import Route
from tests.console.secured import console_with
from tests.support.console import ConsoleProcess
from tests.support.members import until

DEEP = 100_000
NAMES = [
    "no-such-thing",
    "%00",
    "..%2F..%2Fetc",
    "%F0%9F%92%A9",
    "x" * 3_000,
    "-1",
    "9" * 30,
    "%ff%fe",
    "__audit",
    "' or 1=1",
]
BODIES = [
    b"{",
    b"\xff\xfe\x00",
    b"null",
    b"[]",
    b'"text"',
    b"1e999",
    b"[" * DEEP,
    b'{"a":' * DEEP,
    b'{"name": 5, "changes": 7, "partitions": "x", "moves": {}, "rules": 1, "entity": [], "user": [], "values": 0}',
    b'{"changes": ' + b"[" * DEEP,
    b'{"partitions": 1000000000000000000000000, "moves": [1], "changes": [{}], "rules": [null], "values": []}',
    b'{"partitions": [{"topic": "no-such", "partition": -5}], "moves": [], "title": "", "rules": [], "before": 3}',
    b'{"user": "\\u0000", "kind": "no such", "entity": {"planet": "earth"}, "values": {"a": "b"}, "changes": {"a": 1}}',
    b'{"name": "no\\nsuch\\u0000\\"name", "password": "", "hours": -1, "partition": 99999999999, "changes": {}}',
    b'{"partitions": -7, "replication_factor": 99, "name": "x\\\\y", "hours": 1e300, "offsets": "x", "place": {}}',
]
TAKES_NO_BODY = {("DELETE", "/cluster/moves")}  # and no name: it stops what is under way, here nothing


class Caller:
    """One connection that is opened again when the console has closed it, as it does after a body that is too large."""

    def __init__(self, console: ConsoleProcess) -> None:
        self.port = console.port
        self._connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=20)
        _, headers, body = self.ask("GET", "/api/session")
        self.cookie = headers["set-cookie"].partition(";")[0]
        self.token = json.loads(body)["csrf"]

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        try:
            return self._ask(method, path, body, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self._connection.close()
            return self._ask(method, path, body, headers)

    def _ask(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, path, body, sent)
        answer = self._connection.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        if told.get("content-type", "").startswith("text/event-stream"):
            self._connection.close()  # it would go on for ever
            return answer.status, told, b""
        return answer.status, told, answer.read()

    def signed(self, method: str, path: str, body: bytes | None = None) -> tuple[int, dict[str, str], bytes]:
        return self.ask(method, path, body, Cookie=self.cookie, X_CSRF_Token=self.token)


@pytest.fixture(scope="module")
def caller(console: ConsoleProcess) -> Caller:
    return Caller(console)


def is_one_line(status: int, body: bytes) -> bool:
    if status < 400:
        return True
    told = json.loads(body)
    return isinstance(told["error"], str) and bool(told["error"]) and "Traceback" not in told["error"]


def addresses(route: Route) -> Iterator[str]:
    names = NAMES if "{" in route.path else NAMES[:1]
    if route.records:
        names = names[:4]  # a topic that is not there is looked for again for a second, as it may be new
    for name in names:
        yield "/api/clusters/local" + re.sub(r"\{[^}]+\}", name.replace("'", "%27").replace(" ", "%20"), route.path)


def id_of(route: Route) -> str:
    return f"{route.method} {route.path}"


@pytest.mark.parametrize("route", ROUTES, ids=id_of)
def test_every_address_survives_what_is_sent_to_it(caller: Caller, route: Route) -> None:
    for path in addresses(route):
        for query in (
            "",
            "?place=older:x&count=-1&since=x&drain=%00&resource=&operation=no&partition=x&filter=(&kind=regex",
        ):
            if route.method != "GET":
                continue
            status, _, body = caller.signed("GET", path + query)
            assert status < 500, (path, query, body[:300])
            assert is_one_line(status, body), (path, body[:300])
    if route.method == "GET":
        return
    path = next(addresses(route))
    for sent in BODIES:
        status, _, body = caller.signed(route.method, path, sent)
        if (route.method, route.path) not in TAKES_NO_BODY:
            assert 400 <= status < 500, (path, sent[:100], status, body[:300])
        assert is_one_line(status, body), (path, sent[:100], body[:300])


@pytest.mark.parametrize("route", [each for each in ROUTES if each.change], ids=id_of)
def test_no_change_without_the_token_of_the_session(caller: Caller, route: Route) -> None:
    path = next(addresses(route))
    for headers in (
        {},
        {"Cookie": caller.cookie},
        {"Cookie": caller.cookie, "X_CSRF_Token": "wrong"},
        {"Cookie": f"{COOKIE}-{caller.port}=of-somebody-else", "X_CSRF_Token": caller.token},
        {"X_CSRF_Token": caller.token},
        {"Cookie": caller.cookie, "X_CSRF_Token": caller.token, "Origin": "https://evil.example.org"},
        {"Cookie": caller.cookie, "X_CSRF_Token": caller.token, "Origin": "null"},
        {"Cookie": caller.cookie, "X_CSRF_Token": caller.token, "Host": "evil.example.org"},
    ):
        status, _, body = caller.ask(route.method, path, b"{}", **headers)
        assert status in (401, 403, 421), (path, headers, status, body)
        assert is_one_line(status, body)


def test_a_method_that_an_address_does_not_know_is_one_line_too(caller: Caller) -> None:
    for method, path, wanted in (
        ("PUT", "/api/session", 404),
        ("DELETE", "/api/clusters/local/overview", 404),
        ("GET", "/api/nothing", 404),
        ("POST", "/c/local/overview", 405),
        ("GET", "/static/nothing.js", 404),
        ("GET", "/static/..%2f..%2foptions.py", 404),
        ("GET", "/api/clusters/nowhere/overview", 404),
    ):
        status, headers, body = caller.signed(method, path, None)
        assert (status, is_one_line(status, body)) == (wanted, True), (method, path, status, body)
        assert "script-src 'self'" in headers["content-security-policy"]


def test_a_body_that_is_too_large_is_not_kept(caller: Caller) -> None:
    status, _, body = caller.signed("POST", "/api/clusters/local/topics", b" " * (BODY_MAX_BYTES + 1))
    assert status == 413
    assert b"may have" in body
    status, _, body = caller.signed("POST", "/api/sign-in", b" " * 100_000)
    assert status == 413


def test_signing_in_reads_only_what_it_asks_for(caller: Caller) -> None:
    for sent in BODIES:
        status, _, body = caller.signed("POST", "/api/sign-in", sent)
        assert 400 <= status < 500, (sent[:100], status, body)
        assert is_one_line(status, body)


LARGE = 2**70
NUMBERS = [
    ("/topics/orders/messages", {"key": {}, "value": {}, "timestamp": LARGE}),
    ("/topics/orders/messages", {"key": {}, "value": {}, "partition": LARGE}),
    ("/redrive", {"to": "orders", "records": [{"topic": "orders", "partition": 0, "offset": LARGE}]}),
    ("/topics/orders/redrive", {"to": "orders", "kind": "text", "pattern": "a", "spans": {"0": [0, LARGE]}}),
    ("/group/reset?group=billing", {"moves": [{"topic": "orders", "partition": LARGE, "before": None, "after": 1}]}),
    ("/group/reset?group=billing", {"moves": [{"topic": "orders", "partition": 0, "before": None, "after": LARGE}]}),
    ("/group/reset?group=billing", {"moves": [{"topic": "orders", "partition": 0, "before": None, "after": -9}]}),
]


@pytest.mark.parametrize(("path", "body"), NUMBERS)
def test_a_number_that_the_protocol_does_not_have_is_one_line(caller: Caller, path: str, body: object) -> None:
    status, _, told = caller.signed("POST", f"/api/clusters/local{path}", json.dumps(body).encode())
    assert status == 400 and is_one_line(status, told), told


def test_a_job_is_named_by_a_number(caller: Caller) -> None:
    assert caller.signed("GET", "/api/clusters/local/jobs/%C2%B2")[0] == 404


def test_what_goes_wrong_in_the_console_is_in_its_log(tmp_path: Path) -> None:
    told = f'audit_file = "{tmp_path}"\n[clusters.nobody]\nbootstrap = "127.0.0.1:1"\n'  # a folder is no file
    with console_with(tmp_path, told) as serving:
        caller = Caller(serving)
        status, _, _ = caller.signed("POST", "/api/clusters/nobody/topics", b'{"name": "orders"}')
        assert status == 503
        log = tmp_path / "console.log"
        until(lambda: "the change could not be written to" in log.read_text(), "the log has it")


def test_two_consoles_of_one_machine_keep_their_sessions_apart(caller: Caller, tmp_path: Path) -> None:
    """A browser sends the cookies of a host to all its ports, and keeps the last of each name."""
    with console_with(tmp_path, '[clusters.nobody]\nbootstrap = "127.0.0.1:1"\n') as other:
        names = [each.cookie.partition("=")[0] for each in (caller, Caller(other))]
    assert len(set(names)) == 2

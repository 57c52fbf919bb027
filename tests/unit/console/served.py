"""A console in this process, on a node in this process, and what a page of it would ask."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import uvicorn

from barnabas.console.options import ClusterOptions, ConsoleOptions, Role
from barnabas.console.web.app import Console
from tests.support.members import until
from tests.support.process import free_port


class Browser:
    """One person's session: the cookie and the token for changes."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._fields: dict[str, str] = {}
        self.session: dict[str, Any] = {}
        status, self.session = self.ask("GET", "/api/session")
        assert status == 200
        self._fields["X-CSRF-Token"] = self.session["csrf"]

    def sign_in(self, user: str, password: str) -> tuple[int, Any]:
        asked = {"cluster": "local", "user": user, "password": password}
        status, found = self.ask("POST", "/api/sign-in", asked)
        if status == 200:
            self.session = found
            self._fields["X-CSRF-Token"] = found["csrf"]
        return status, found

    def events(self, path: str, most: int = 1000, **query: object) -> list[tuple[str, Any]]:
        """Events of a stream: so many, or all until it ends."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("GET", _address(path, query), headers=self._fields)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            found: list[tuple[str, Any]] = []
            kind = ""
            while len(found) < most and (line := answer.readline()):
                name, _, value = line.decode().strip().partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    found.append((kind, json.loads(value)))
            return found
        finally:
            connection.close()

    def raw(
        self, method: str, path: str, body: object = None, **fields: str
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, data, {**self._fields, **fields})
            answer = connection.getresponse()
            if cookie := answer.headers.get("Set-Cookie"):
                self._fields["Cookie"] = cookie.partition(";")[0]
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: object = None, **fields: str) -> tuple[int, Any]:
        status, _, data = self.raw(method, path, body, **fields)
        return status, json.loads(data or b"null")

    def page(self, method: str, path: str, body: object = None, **query: object) -> Any:
        """The answer of a page of the cluster `local`, which has to be good."""
        status, found = self.ask(method, _address(path, query), body)
        assert status == 200, found
        return found

    def refused(self, method: str, path: str, body: object = None, **query: object) -> tuple[int, str]:
        status, found = self.ask(method, _address(path, query), body)
        assert status >= 400, found
        return status, found["error"]


def _address(path: str, query: dict[str, object]) -> str:
    return f"/api/clusters/local{path}" + (f"?{urlencode(query, doseq=True)}" if query else "")


@contextmanager
def console(
    bootstrap: str,
    *roles: Role,
    settings: Mapping[str, str] | None = None,
    registry: str | None = None,
    users: Mapping[str, str] | None = None,
) -> Iterator[int]:
    """The port of a console whose cluster is called `local`; `settings`: how to connect to it."""
    port = free_port()
    cluster = ClusterOptions("local", bootstrap, settings or {}, registry)
    options = ConsoleOptions(clusters=(cluster,), port=port, roles=roles, users=users or {})
    config = uvicorn.Config(
        Console(options).app(), host="127.0.0.1", port=port, log_config=None, ws="none", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started, "the console is up", 20)
        yield port
    finally:
        server.should_exit = True
        thread.join(20)

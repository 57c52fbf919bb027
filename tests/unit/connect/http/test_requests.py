"""The sink, against the webhook, and against a server that does what it is told."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from barnabas.connect.connectors.http.sink import HttpSink
from barnabas.connect.connectors.http.source import HttpSource
from barnabas.connect.contract import Delivered, Rejected, Value
from barnabas.connect.errors import BadOption, Unavailable
from tests.support.certificates import Authority
from tests.support.delivered import delivered

SECRET = "not-to-be-shown"


def write(records: Sequence[Delivered], **options: Value) -> Sequence[Rejected]:
    sink = HttpSink("web", options)
    writer = sink.open("orders", 0)
    try:
        assert writer.next_offset() is None
        return writer.write(records, records[-1].offset + 1)
    finally:
        writer.close()


def test_into_our_webhook() -> None:
    """What is sent twice is there once: the id of the request says so."""
    reader = HttpSource("hook", {"port": 0, "path": "/{key}"}).open("requests", None)
    written: list[tuple[str, bytes]] = []
    ending = threading.Event()

    def read() -> None:
        while not ending.is_set():
            chunk = reader.read(100, 0.05)
            if chunk is not None:
                written.extend((record.key, record.value) for record in chunk.records)
                reader.committed(chunk.position)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        url = f"http://127.0.0.1:{reader.port}/{{key}}"
        records = [delivered(offset, b"%d" % offset, "a") for offset in range(30)]
        assert write(records[:20], url=url) == []
        assert write(records[10:], url=url) == []
    finally:
        ending.set()
        thread.join()
        reader.close()
    assert written == [("a", b"%d" % number) for number in range(30)]


Decide = Callable[[str, bytes], tuple[int, dict[str, str], bytes]]


class Service(ThreadingHTTPServer):
    """Answers as `decide` says, given path and body; notes what came."""

    daemon_threads = True

    def __init__(self, decide: Decide) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.decide = decide
        self.requests: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that leave are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, dict(self.headers.items()), body))
        status, headers, answer = self.server.decide(self.path, body)
        if status == 0:
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in {"Content-Length": str(len(answer)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *arguments: object) -> None:
        return


@contextlib.contextmanager
def serving(decide: Decide) -> Iterator[Service]:
    service = Service(decide)
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.shutdown()
        thread.join()
        service.server_close()


def always(status: int, body: bytes = b"", **headers: str) -> Decide:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda path, sent: (status, named, body)


def test_what_a_request_has() -> None:
    with serving(always(204)) as service:
        records = [delivered(7, {"a": 1}, "k"), delivered(8, "text"), delivered(9, b"\0"), delivered(10, None)]
        assert write(records, url=f"{service.url}/in?t={{topic}}", headers={"X-Api-Key": SECRET}, token="t-1") == []
        assert write(records[:1], url=service.url.replace("://", "://u:p%40@")) == []
        assert write(records, url=service.url, tombstones="skip", content_type="text/x") == []
    paths, headers, bodies = zip(*service.requests, strict=True)
    assert paths == ("/in?t=orders",) * 4 + ("/",) * 4
    assert bodies[:4] == (b'{"a":1}', b"text", b"\0", b"")
    first = headers[0]
    assert (first["Idempotency-Key"], first["X-Api-Key"], first["Authorization"]) == (
        "web-orders-0-7",
        SECRET,
        "Bearer t-1",
    )
    assert [each["Content-Type"] for each in headers[:3]] == [
        "application/json",
        "text/plain; charset=utf-8",
        "application/octet-stream",
    ]
    assert headers[4]["Authorization"] == "Basic " + base64.b64encode(b"u:p@").decode()
    assert headers[5]["Content-Type"] == "text/x"


def test_batches() -> None:
    """Of a batch that is refused, only the bad ones are."""

    def decide(path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        bad = any(each.get("n") in (3, 4, 11) for each in json.loads(body))
        return (422, {}, b"n is bad") if bad else (200, {}, b"")

    with serving(decide) as service:
        records = [delivered(offset, {"n": offset}) for offset in range(20)]
        records[15] = delivered(15, {1j: 1})
        rejected = write(records, url=service.url, batch=8)
        assert [each.record.offset for each in rejected] == [3, 4, 11, 15]
        assert rejected[0].reason == f"{service.url} answers 422: n is bad"
        taken = [each["n"] for _, _, body in service.requests for each in json.loads(body)]
        good = [number for number in range(20) if number not in (3, 4, 11, 15)]
        assert {number for number in taken if number in good} == set(good)
        assert service.requests[0][1]["Idempotency-Key"] == "web-orders-0-0-7"


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 401, 403])
def test_what_may_pass(status: int) -> None:
    with serving(always(status, b"busy\n  now" * 1000)) as service:
        with pytest.raises(Unavailable, match=f"{service.url} answers {status}: busy now") as failed:
            write([delivered(0, "x")], url=service.url, token=SECRET)
        assert len(str(failed.value)) < 400
        assert SECRET not in str(failed.value)


def test_retry_after() -> None:
    with serving(always(503, Retry_After="2")) as service:
        sink = HttpSink("web", {"url": service.url})
        writer = sink.open("orders", 0)
        began = time.monotonic()
        with pytest.raises(Unavailable, match="answers 503"):
            writer.write([delivered(0, "x")], 1)
        writer.close()
        with pytest.raises(Unavailable, match=r"asks us to wait \d s more"):
            sink.open("orders", 0)
        with pytest.raises(Unavailable, match=r"asks us to wait \d s more"):
            writer.write([delivered(0, "x")], 1)
        assert len(service.requests) == 1
        assert 0 < sink.not_before - began < 3
        sink.not_before = 0
        service.decide = always(429, Retry_After="Wed, 18 Nov 2099 00:00:00 GMT")
        with pytest.raises(Unavailable, match="answers 429"):
            sink.open("orders", 0).write([delivered(0, "x")], 1)
        assert 3500 < sink.not_before - time.monotonic() <= 3600  # an hour at most


def test_in_parallel() -> None:
    together = threading.Barrier(4, timeout=10)

    def decide(path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        together.wait()
        return (400, {}, b"") if body == b"5" else (200, {}, b"")

    with serving(decide) as service:
        records = [delivered(offset, b"%d" % offset) for offset in range(12)]
        rejected = write(records, url=service.url, parallel=4)
        assert [each.record.offset for each in rejected] == [5]
        service.decide = always(500)
        with pytest.raises(Unavailable, match="answers 500"):
            write(records, url=service.url, parallel=4)


def test_servers_that_are_none() -> None:
    with serving(always(0)) as service, pytest.raises(Unavailable, match="no answer of"):
        write([delivered(0, "x")], url=service.url)
    endless = b"x" * 100_000
    with serving(always(200, endless)) as service:
        assert write([delivered(0, "x"), delivered(1, "y")], url=service.url) == []
    slow: Decide = lambda path, body: (time.sleep(1), (200, {}, b""))[1]  # noqa: E731
    with serving(slow) as service, pytest.raises(Unavailable, match=r"no answer of .*timed out"):
        write([delivered(0, "x")], url=service.url, timeout_s=0.2)


def test_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate = authority.issue("hook")
    options: dict[str, Value] = {"cert_file": str(certificate.certificate), "key_file": str(certificate.key)}
    reader = HttpSource("hook", {"port": 0, "answer_timeout_s": 0.2, **options}).open("requests", None)
    try:
        url = f"https://127.0.0.1:{reader.port}/"
        with pytest.raises(Unavailable, match="answers 503: not written in time"):
            write([delivered(0, "x")], url=url, ca_file=str(authority.file))
        with pytest.raises(Unavailable, match="certificate verify failed"):
            write([delivered(0, "x")], url=url)
        with pytest.raises(Unavailable, match="certificates cannot be read"):
            write([delivered(0, "x")], url=url, ca_file="/missing")
    finally:
        reader.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"url": f"ftp://u:{SECRET}@h"}, "Write it as http://HOST/path"),
        ({"url": "http://{key}/"}, "Write it as http://HOST/path"),
        ({"url": "http://h:x"}, "Write it as http://HOST/path"),
        ({"url": "http://h/{name}"}, "{name} is not known"),
        ({"url": "http://h/{key}", "batch": 2}, "a batch goes to one URL"),
        ({"url": "http://h", "parallel": 0}, "'parallel' is 1 to 64"),
        ({"url": "http://h", "method": "GET"}, "method"),
        ({"url": "http://h", "token": f"{SECRET}\n"}, "printable characters"),
        ({"url": "http://h", "headers": {"a": f"{SECRET}\r\nb: c"}}, "printable characters"),
    ],
)
def test_options_that_cannot_be_right(options: dict[str, Value], said: str) -> None:
    with pytest.raises(BadOption, match=said) as bad:
        HttpSink("x", options)
    assert SECRET not in str(bad.value)

"""The sink over HTTP, against a server that keeps documents by version as OpenSearch does, and that can be busy, refuse
or be slow. tests/connect/opensearch has the same with a real one."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from barnabas.connect.connectors.opensearch import sink as opensearch_sink
from barnabas.connect.connectors.opensearch.sink import OpensearchSink
from barnabas.connect.contract import Value, Writer
from barnabas.connect.errors import Refused, Unavailable
from tests.support.delivered import delivered, numbered
from tests.support.process import free_port

Refusal = Callable[[int, str], tuple[int, object] | None]


class FakeOpensearch:
    """Documents by id, each with its version; a lower one is refused with 409, as with `version_type: external`."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[int, Value]] = {}
        self.requests: list[tuple[str, dict[str, str], int]] = []  # path, headers, bytes
        self.busy_places: set[int] = set()  # of the next bulk request
        self.refuse: Refusal = lambda number, path: None
        self.about: object = {"version": {"number": "3.1.0", "distribution": "opensearch"}}
        self.bytes_max = 1 << 30
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self._answer(body)

            def do_GET(self) -> None:
                self._answer(b"")

            def _answer(self, body: bytes) -> None:
                headers = dict(self.headers)
                fake.requests.append((self.path, headers, len(body)))
                status, answer = fake.answer(self.path, headers, body)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, object]:
        refused = self.refuse(len(self.requests), path)
        if refused is not None:
            return refused
        if path == "/":
            return 200, self.about
        if len(body) > self.bytes_max:
            return 413, b""
        if headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        return 200, self._bulk([json.loads(line) for line in body.splitlines()])

    def _bulk(self, lines: list[Value]) -> object:
        items: list[object] = []
        busy, self.busy_places = self.busy_places, set()
        while lines:
            ((action, about),) = lines.pop(0).items()
            document = lines.pop(0) if action != "delete" else None
            status = 200
            if len(items) in busy:
                error = {"type": "rejected_execution_exception", "reason": "the queue is full"}
                items.append({action: {"status": 429, "error": error}})
                continue
            known, _ = self.documents.get(about["_id"], (-1, None))
            version = about.get("version", 0)
            if (action == "create" and known >= 0) or version < known:
                status = 409
                items.append({action: {"status": 409, "error": {"type": "version_conflict_engine_exception"}}})
                continue
            self.documents[about["_id"]] = (version, document)
            items.append({action: {"status": status}})
        return {"errors": True, "items": items}

    def found(self) -> dict[str, Value]:
        return {name: document for name, (_, document) in self.documents.items() if document is not None}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


@pytest.fixture
def server() -> Iterator[FakeOpensearch]:
    made = FakeOpensearch()
    yield made
    made.close()


@contextlib.contextmanager
def writing(server: FakeOpensearch, **options: Value) -> Iterator[Writer]:
    writer = OpensearchSink("orders", {"url": server.url, "index": "orders", **options}).open("orders", 0)
    try:
        assert writer.next_offset() is None
        yield writer
    finally:
        writer.close()


def test_overlapping_and_repeated_batches_change_nothing(server: FakeOpensearch) -> None:
    rng = random.Random(7)
    with writing(server, metadata="kafka", batch_records=30, pipeline="a b") as writer:
        for _ in range(10):
            first = rng.randrange(0, 150)
            end = rng.randrange(first, 200)
            assert not writer.write(numbered(first, end), end)
        assert not writer.write(numbered(0, 200), 200)
    assert {document["kafka"]["offset"] for document in server.found().values()} == set(range(200))
    assert all("pipeline=a%20b" in path for path, _, _ in server.requests if path != "/")


def test_a_key_has_the_value_of_its_highest_offset(server: FakeOpensearch) -> None:
    with writing(server) as writer, writing(server) as paused:
        writer.write([delivered(0, {"n": 0}, "a"), delivered(1, {"n": 1}, b"b"), delivered(2, {"n": 2}, "a")], 3)
        writer.write([delivered(3, None, "b")], 4)
        paused.write([delivered(0, {"n": 0}, "a"), delivered(1, {"n": 1}, b"b")], 2)  # a former owner wakes up
    assert server.found() == {"a": {"n": 2}}


def test_records_that_the_server_is_too_busy_for_are_sent_again_alone(
    server: FakeOpensearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opensearch_sink, "PAUSE_FIRST_S", 0.01)
    server.busy_places = {1, 3}
    with writing(server) as writer:
        assert not writer.write(numbered(0, 5), 5)
    assert len(server.found()) == 5
    assert server.requests[-1][2] < server.requests[-2][2]  # two of five
    server.refuse = lambda number, path: (503, {"error": "no"}) if path != "/" else None
    with writing(server, retry_seconds=0.05) as writer, pytest.raises(Unavailable, match="is busy: 503"):
        writer.write(numbered(0, 5), 5)


def test_a_request_that_is_too_large_is_split_and_the_size_remembered(server: FakeOpensearch) -> None:
    server.bytes_max = 20_000
    records = [delivered(each, {"n": each, "text": "x" * 3000}, f"k{each}") for each in range(20)]
    records.append(delivered(20, {"text": "x" * 30_000}, "large"))
    with writing(server) as writer:
        (rejected,) = writer.write(records, 21)
        assert rejected.record.offset == 20 and "http.max_content_length" in rejected.reason
        before = len(server.requests)
        assert not writer.write(records[:20], 21)
    assert len(server.found()) == 20
    assert max(size for _, _, size in server.requests[before:]) <= 20_000


def test_compressed_bodies_and_values_that_are_no_json(server: FakeOpensearch) -> None:
    with writing(server, compress=True) as writer:
        assert not writer.write(numbered(0, 500), 500)
        (rejected,) = writer.write([delivered(500, {"n": object()}, "x")], 501)
    assert rejected.reason.startswith("not written as JSON: ")
    assert len(server.found()) == 500
    assert server.requests[-1][1]["Content-Encoding"] == "gzip" and server.requests[-1][2] < 20_000


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (401, {}, Unavailable, "refuses the login (401)"),
        (400, {"error": {"type": "parse_exception", "reason": "bad"}}, Refused, "answers 400: parse_exception: bad"),
        (403, {"error": {"type": "security_exception"}}, Unavailable, "Give the user the right to write"),
        (403, {"error": {"type": "cluster_block_exception"}}, Unavailable, "Remove the block (cluster.blocks)"),
        (500, b"<html>", Unavailable, "answers 500"),
    ],
)
def test_what_a_server_refuses(server: FakeOpensearch, status: int, body: object, kind: type, said: str) -> None:
    server.refuse = lambda number, path: (status, body) if path != "/" else None
    with writing(server) as writer, pytest.raises(kind) as problem:
        writer.write(numbered(0, 2), 2)
    assert said in str(problem.value) and "\n" not in str(problem.value)


def test_logins_and_servers_that_are_none(server: FakeOpensearch) -> None:
    server.refuse = lambda number, path: (401, {})
    options = {"username": "ann", "password": "not-to-be-shown"}
    with pytest.raises(Unavailable, match="refuses the login") as problem, writing(server, **options):
        pass
    assert "not-to-be-shown" not in str(problem.value)
    server.refuse = lambda number, path: (200, b"<html>")
    with pytest.raises(Unavailable, match="is no OpenSearch: its answer is not JSON"), writing(server):
        pass
    server.refuse = lambda number, path: (403, {}) if path == "/" else None  # may write, may not ask
    with writing(server) as writer:
        assert not writer.write(numbered(0, 1), 1)


def test_elasticsearch_6_wants_a_type(server: FakeOpensearch) -> None:
    server.about = {"version": {"number": "6.8.0"}}
    sent: list[bytes] = []
    with writing(server) as writer:
        of = writer._lines.of  # type: ignore[attr-defined]
        sent.append(of(numbered(0, 1)[0]))
    assert b'"_type":"_doc"' in sent[0]


def test_another_node_answers_when_one_does_not(server: FakeOpensearch) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    sink = OpensearchSink("orders", {"url": ",".join((dead, server.url, dead)), "index": "orders"})
    for partition in range(3):  # whichever is asked first
        writer = sink.open("orders", partition)
        assert not writer.write(numbered(0, 1), 1)
        writer.close()
    with pytest.raises(Unavailable, match=r"cannot be reached: .*Connection refused"):
        OpensearchSink("orders", {"url": dead, "index": "orders"}).open("orders", 0)


def test_a_server_that_does_not_answer_in_time(server: FakeOpensearch) -> None:
    def slow(number: int, path: str) -> tuple[int, object] | None:
        if path != "/":
            time.sleep(0.3)
        return None

    server.refuse = slow
    options = {"timeout_seconds": 0.1, "retry_seconds": 0.05}
    with writing(server, **options) as writer, pytest.raises(Unavailable, match=r"did not answer in 0\.1 s"):
        writer.write(numbered(0, 1), 1)

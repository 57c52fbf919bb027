"""The webhook, with well-behaved clients and with strangers; curl is in tests/connect/http."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from barnabas.connect.connectors.http import server as http_server
from barnabas.connect.connectors.http.source import HttpReader, HttpSource
from barnabas.connect.contract import Position, Record, Value
from barnabas.connect.errors import BadOption, Unavailable
from tests.support.members import until
from tests.support.process import free_port

SECRET = "not-to-be-shown"


@contextlib.contextmanager
def reading(position: Position | None = None, port: int = 0, **options: Value) -> Iterator[HttpReader]:
    source = HttpSource("hook", {"port": port, **options})
    assert source.splits() == ["requests"]
    reader = source.open("requests", json.loads(json.dumps(position)))
    try:
        yield reader
    finally:
        reader.close()


def post(port: int, body: bytes = b"x", path: str = "/", method: str = "POST", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.read().decode().strip()
    finally:
        connection.close()


class Posting:
    """Posts in the background: nothing is answered before it is committed."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(32)

    def post(self, port: int, body: bytes = b"x", path: str = "/", **headers: str) -> Future[tuple[int, str]]:
        return self.threads.submit(post, port, body, path, **headers)

    def __enter__(self) -> Posting:
        return self

    def __exit__(self, *_: object) -> None:
        self.threads.shutdown(wait=True)


def take(reader: HttpReader, count: int) -> tuple[list[Record], Position]:
    records: list[Record] = []
    position: Position = {}

    def enough() -> bool:
        nonlocal position
        chunk = reader.read(100, 0.2)
        if chunk is not None:
            records.extend(chunk.records)
            position = json.loads(json.dumps(chunk.position))
        return len(records) >= count

    until(enough, f"{count} requests", 10)
    return records, position


def test_answered_when_committed() -> None:
    with reading(path="/sensors/{key}") as reader, Posting() as posting:
        answers = [posting.post(reader.port, b"%d" % n, f"/sensors/a%2Fb?n={n}") for n in range(20)]
        records, position = take(reader, 20)
        assert sorted(int(record.value) for record in records) == list(range(20))
        assert {record.key for record in records} == {"a/b"}
        assert dict(records[0].headers)["http.path"] == b"/sensors/a%2Fb?n=" + records[0].value
        assert not any(each.done() for each in answers)
        reader.committed(position)
        assert [each.result(10) for each in answers] == [(200, "")] * 20


def test_a_crash_before_the_commit_is_no_answer() -> None:
    with Posting() as posting:
        with reading() as reader:
            answer = posting.post(reader.port)
            take(reader, 1)
        assert answer.result(10) == (503, "the connector stops")


def test_the_same_id_again() -> None:
    with Posting() as posting:
        with reading(remember=2) as reader:
            first = posting.post(reader.port, b"1", Idempotency_Key="a")
            records, position = take(reader, 1)
            again = posting.post(reader.port, b"1", Idempotency_Key="a")  # before it is committed
            assert reader.read(10, 0.3) is None
            assert not again.done()
            reader.committed(position)
            assert (first.result(10), again.result(10)) == ((200, ""), (200, ""))
        with reading(position, remember=2) as reader:  # on another worker, and the sender did not get the answer
            third = posting.post(reader.port, b"1", Idempotency_Key="a")
            until(lambda: reader.read(10, 0.1) is None and third.done(), "an answer")
            assert third.result() == (200, "")
            for name in "bcd":
                answer = posting.post(reader.port, name.encode(), Idempotency_Key=name)
                more, position = take(reader, 1)
                reader.committed(position)
                records += more
                assert answer.result(10)[0] == 200
            assert position["ids"] == ["b", "c", "d"]  # two, and the one that was not committed
            answer = posting.post(reader.port, b"1", Idempotency_Key="a")  # is forgotten
            records += take(reader, 1)[0]
    assert [record.value for record in records] == [b"1", b"b", b"c", b"d", b"1"]
    assert answer.result(10)[0] == 503


def test_signatures_and_tokens() -> None:
    body = b'{"a": 1}'
    right = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    with reading(secret=SECRET, token="t-1", accept="json") as reader, Posting() as posting:
        for headers in (
            {},
            {"Authorization": "Bearer t-1"},
            {"X_Hub_Signature_256": f"sha256={right}"},
            {"X_Hub_Signature_256": f"sha256={right}", "Authorization": "Bearer t-2"},
            {"X_Hub_Signature_256": "sha256=" + right[:-1] + "é", "Authorization": "Bearer t-1"},
        ):
            status, said = post(reader.port, body, **headers)
            assert (status, said) == (401, "the signature or token is missing or wrong")
        good = {"X_Hub_Signature_256": f"sha256={right.upper()}", "Authorization": "bearer t-1"}
        assert post(reader.port, body + b" ", **good)[0] == 401
        answer = posting.post(reader.port, body, **good)
        _, position = take(reader, 1)
        reader.committed(position)
        assert answer.result(10)[0] == 200
        bad = hmac.new(SECRET.encode(), b"{", hashlib.sha256).hexdigest()
        status, said = post(reader.port, b"{", X_Hub_Signature_256=bad, Authorization="t-1")
        assert status == 400
        assert "is no JSON" in said


def test_topics_by_path() -> None:
    with (
        reading(path="/{topic}/{key}", topics=["orders", "events"], key_header="X-Key") as reader,
        Posting() as posting,
    ):
        assert post(reader.port, b"x", "/passwords/a")[0] == 404
        assert post(reader.port, b"x", "/orders")[0] == 404
        assert post(reader.port, b"x", "/orders/a/b")[0] == 404
        assert post(reader.port, b"x", "/orders/a", method="GET")[0] == 405
        posting.post(reader.port, b"x", "/orders/a")
        posting.post(reader.port, b"x", "/events/a", X_Key="b")
        records, position = take(reader, 2)
        reader.committed(position)
        assert sorted((record.topic, record.key) for record in records) == [("events", "b"), ("orders", "a")]


def test_limits() -> None:
    options: dict[str, Value] = {"max_bytes": 1000, "max_waiting": 3, "max_connections": 8, "answer_timeout_s": 1.0}
    with reading(**options) as reader, Posting() as posting:
        assert post(reader.port, b"x" * 1001)[0] == 413
        assert post(reader.port, b"x", Idempotency_Key="x" * 300)[0] == 400
        waiting = [posting.post(reader.port) for _ in range(3)]
        until(lambda: len(reader._waiting) == 3, "requests that wait")
        assert post(reader.port) == (503, "too many requests are waiting")
        assert [each.result(10) for each in waiting] == [(503, "not written in time")] * 3
        assert reader.read(10, 0.1) is None  # they were told so, and will come again
        with contextlib.ExitStack() as open_connections:
            for _ in range(8):
                open_connections.enter_context(socket.create_connection(("127.0.0.1", reader.port)))
            until(lambda: len(reader._server.connections) == 8, "connections")
            assert post(reader.port) == (503, "too many connections")
        answer = posting.post(reader.port, b"y" * 1000)
        records, position = take(reader, 1)
        reader.committed(position)
        assert answer.result(10)[0] == 200
        assert len(records) == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20, b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", b"400"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"POST / HTTP/1.1\r\n" + b"".join(b"h%d: x\r\n" % n for n in range(200)) + b"\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nx: " + b"y" * 40_000, b"431"),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + (b"800\r\n" + b"x" * 2048 + b"\r\n") * 600, b"413"),
        (b"POST / HTTP/1.1\r\nhost: x\r\n", b"408"),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab", b"408"),
    ],
)
def test_strangers(sent: bytes, status: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEAD_S", 0.3)
    monkeypatch.setattr(http_server, "BODY_S", 0.3)
    with reading() as reader, socket.create_connection(("127.0.0.1", reader.port), 5) as stranger:
        with contextlib.suppress(ConnectionError):
            stranger.sendall(sent)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while part := stranger.recv(1000):
                answer += part
        assert answer.split(b" ")[1:2] == [status]
        assert reader.read(1, 0) is None


def test_requests_in_one_packet() -> None:
    with reading() as reader, socket.create_connection(("127.0.0.1", reader.port), 5) as client:
        client.sendall(b"".join(b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n%d" % n for n in range(5)))
        records, position = take(reader, 5)
        assert [record.value for record in records] == [b"0", b"1", b"2", b"3", b"4"]
        reader.committed(position)
        answer = b""
        while answer.count(b"200 OK") < 5:
            answer += client.recv(1000)


def test_many_senders_at_once() -> None:
    """Nothing is lost or answered without being written, with readers that stop in between."""
    port = free_port()
    written: list[str] = []
    answered: set[str] = set()
    ending = threading.Event()

    def send(sender: int) -> None:
        for number in range(30):
            name = f"{sender}-{number}"
            while not ending.is_set():
                try:
                    if post(port, name.encode(), Idempotency_Key=name)[0] == 200:
                        answered.add(name)
                        break
                except OSError:
                    ending.wait(0.01)

    with ThreadPoolExecutor(8) as threads:
        senders = [threads.submit(send, sender) for sender in range(8)]
        position: Position | None = None
        try:
            for session in range(1000):
                with reading(position, port) as reader:
                    for _ in range(6):
                        chunk = reader.read(7, 0.2)
                        if chunk is not None:
                            written += [record.value.decode() for record in chunk.records]
                            position = json.loads(json.dumps(chunk.position))
                            reader.committed(chunk.position)
                    if session % 2:
                        reader.read(7, 0.05)  # not committed
                if all(each.done() for each in senders):
                    break
        finally:
            ending.set()
    assert len(answered) == 240
    assert sorted(written) == sorted(answered)


def test_a_port_that_is_taken() -> None:
    with reading() as reader, pytest.raises(Unavailable, match=rf"cannot listen on 127.0.0.1:{reader.port}: .*in use"):
        HttpSource("x", {"port": reader.port}).open("requests", None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "needs the option 'port'"),
        ({"port": 70_000}, "option 'port'"),
        ({"port": 1, "path": "orders"}, "option 'path'"),
        ({"port": 1, "path": "/{name}"}, "option 'path'"),
        ({"port": 1, "path": "/{topic}"}, "option 'topics'"),
        ({"port": 1, "topics": ["a"]}, "option 'topics'"),
        ({"port": 1, "max_bytes": 0}, "'max_bytes'"),
        ({"port": 1, "remember": 10**6}, "'remember'"),
        ({"port": 1, "secrets": SECRET}, "did you mean 'secret'"),
    ],
)
def test_options_that_cannot_be_right(options: dict[str, Value], said: str) -> None:
    with pytest.raises(BadOption, match=said) as bad:
        HttpSource("x", options)
    assert SECRET not in str(bad.value)

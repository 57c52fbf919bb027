"""Strangers at metrics.listeners: whatever they send or do not send, the node serves and its metrics are there."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest

from barnabas.model.limits import METRICS_CONNECTIONS_MAX, METRICS_HEAD_SECONDS
from tests.metrics.conftest import MeteredNode
from tests.support.wire import API_VERSIONS, WireClient


def connect(node: MeteredNode) -> socket.socket:
    host, _, port = node.url.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), 10)


def answer(node: MeteredNode, data: bytes) -> bytes:
    """All that comes until the node closes."""
    with connect(node) as client:
        try:
            client.sendall(data)
        except ConnectionError:
            return b""
        parts = []
        try:
            while part := client.recv(65536):
                parts.append(part)
        except ConnectionError:
            pass
        return b"".join(parts)


@pytest.fixture(autouse=True)
def unharmed(node: MeteredNode) -> Iterator[None]:
    yield
    assert node.metrics().value("barnabas_ready") == 1
    with WireClient(node.bootstrap) as client:
        assert client.call(API_VERSIONS, 0, {})["error_code"] == 0


def test_a_head_without_end_is_refused(node: MeteredNode) -> None:
    found = answer(node, b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 170_000)
    assert found == b"" or found.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"\x00\x00\x00\x10\x00\x12\x00\x00\r\n\r\n",
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST /metrics HTTP/1.1\r\nContent-Length: 9999999999\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"GET /metrics?" + b"a=b&" * 1000 + b" HTTP/1.1\r\n\r\n",
    ],
)
def test_garbage_gets_a_status_and_no_more(node: MeteredNode, data: bytes) -> None:
    found = answer(node, data)
    assert found.startswith(b"HTTP/1.1 4"), found[:100]
    assert b"Traceback" not in found and len(found) < 1_000


def test_many_requests_in_one_piece_are_answered_one_after_the_other(node: MeteredNode) -> None:
    found = answer(node, b"GET /health/live HTTP/1.1\r\n\r\n" * 50 + b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert found.count(b"HTTP/1.1 200 OK") == 51


def test_head_has_no_body(node: MeteredNode) -> None:
    found = answer(node, b"HEAD /metrics HTTP/1.1\r\nConnection: close\r\n\r\n")
    head, _, body = found.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK") and body == b""


def test_a_slow_client_has_a_few_seconds(node: MeteredNode) -> None:
    with connect(node) as client:
        client.sendall(b"GET /metrics HT")
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            assert client.recv(1) == b""
        assert time.monotonic() - began < METRICS_HEAD_SECONDS + 3


def test_thousands_of_connections_keep_nobody_out(node: MeteredNode) -> None:
    """They come at once and say nothing: each gives way to a later one, and so to whoever wants the metrics."""
    opened: list[socket.socket] = []
    try:
        for number in range(10_000):
            client = connect(node)
            opened.append(client)
            if len(opened) > 2 * METRICS_CONNECTIONS_MAX:
                opened.pop(0).close()
            if number % 2_000 == 0:
                assert node.metrics().value("barnabas_ready") == 1
        descriptors = node.metrics().value("process_open_fds")
        assert descriptors is not None and descriptors < 4 * METRICS_CONNECTIONS_MAX + 100
    finally:
        for client in opened:
            client.close()


def test_a_client_that_does_not_read_holds_its_answer_and_no_other(node: MeteredNode) -> None:
    with connect(node) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n" * 2_000)
        assert node.metrics().value("barnabas_ready") == 1

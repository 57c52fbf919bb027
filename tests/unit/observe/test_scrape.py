"""A node's metrics over HTTP: what comes back, what is refused, and who is told a password."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from barnabas.link.sasl import Credentials
from barnabas.observe import scrape
from barnabas.observe.find import metrics_url
from barnabas.observe.scrape import NodeScraper, ScrapeFailed, password_for
from tests.support.process import free_port


class Answers(BaseHTTPRequestHandler):
    """As its path asks for it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        kind = self.path.split("?")[0]
        body, status, packed = b"up 1\n", 200, False
        if kind == "/packed":
            body, packed = gzip.compress(b"packed 7\n"), True
        elif kind == "/torn":
            body, packed = gzip.compress(b"packed 7\n")[:-6], True
        elif kind == "/no":
            body, status = b"log  in\nfirst", 401
        elif kind == "/login":
            body = self.headers.get("Authorization", "nobody").encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        if kind == "/once":
            self.close_connection = True  # without a word in the headers, as a node that restarts
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return None


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@pytest.fixture
def scraper(url: str) -> Iterator[NodeScraper]:
    made = NodeScraper(url, login=("alice", "secret"))
    yield made
    made.close()


def test_metrics_plain_and_packed(scraper: NodeScraper) -> None:
    assert scraper.metrics().value("up") == 1 and scraper.metrics(partitions=True).value("up") == 1
    assert scraper.text("/packed") == "packed 7\n"


def test_the_login_goes_along_and_is_not_shown(scraper: NodeScraper) -> None:
    assert scraper.text("/login").startswith("Basic ")
    assert "secret" not in repr(scraper)


def test_a_connection_that_the_node_has_closed_is_opened_again(scraper: NodeScraper) -> None:
    assert scraper.text("/once") == scraper.text("/once") == "up 1\n"


def test_a_refusal_is_told_with_its_status(scraper: NodeScraper) -> None:
    with pytest.raises(ScrapeFailed, match="HTTP 401: log in first") as refused:
        scraper.text("/no")
    assert refused.value.status == 401


def test_half_an_answer_is_none(scraper: NodeScraper) -> None:
    for _ in range(2):
        with pytest.raises(ScrapeFailed) as failed:
            scraper.text("/torn")
        assert failed.value.status is None


def test_an_answer_that_is_too_large_is_given_up(scraper: NodeScraper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrape, "ANSWER_MAX_BYTES", 5)
    with pytest.raises(ScrapeFailed, match="more than 5 bytes"):
        scraper.text("/packed")
    monkeypatch.setattr(scrape, "PACKED_MAX_BYTES", 4)
    with pytest.raises(ScrapeFailed, match="more than 4 bytes"):
        scraper.text("/metrics")


def test_nobody_there_and_addresses_that_are_none() -> None:
    scraper = NodeScraper(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ScrapeFailed, match="refused"):
        scraper.metrics()
    for wrong in ("ftp://h:1", "http://", "h:1"):
        with pytest.raises(ScrapeFailed, match="is not http://host:port"):
            NodeScraper(wrong)
    assert NodeScraper("https://h:1").url == "https://h:1"


@pytest.mark.parametrize(
    ("url", "mechanism", "told"),
    [
        ("https://far.example.org:9404", "SCRAM-SHA-512", True),
        ("http://127.0.0.1:9404", "SCRAM-SHA-256", True),
        ("http://far.example.org:9404", "SCRAM-SHA-512", False),  # in plain text over the network
        ("https://far.example.org:9404", "PLAIN", False),  # no user of SCRAM
    ],
)
def test_who_is_told_the_password(url: str, mechanism: str, told: bool) -> None:
    credentials = Credentials(mechanism, "alice", "secret")
    assert password_for(url, credentials) == (("alice", "secret") if told else None)
    assert password_for(url, None) is None


@pytest.mark.parametrize(
    ("listeners", "url"),
    [
        ("http://0.0.0.0:9404", "http://node-1:9404"),
        ("https://[::1]:9404,http://127.0.0.1:1", "https://[::1]:9404"),
        ("http://10.0.0.7:9404", "http://10.0.0.7:9404"),
        ("", None),
        (None, None),
        ("gopher://h:1", None),
    ],
)
def test_where_a_node_serves_its_metrics(listeners: str | None, url: str | None) -> None:
    assert metrics_url(listeners, "node-1") == url

"""The head of an HTTP request: what is taken, and what is refused with which status."""

import pytest

from barnabas.broker.metrics.http.request import Answer, Refused, parse_head


def head(first: str, *fields: str) -> bytes:
    return "\r\n".join([first, *fields, "", ""]).encode("latin-1")


def test_a_request_of_prometheus() -> None:
    request = parse_head(
        head("GET /metrics?partitions=true HTTP/1.1", "Host: a:9404", "Accept-Encoding: deflate, gzip;q=1.0")
    )
    assert (request.method, request.path, request.query) == ("GET", "/metrics", {"partitions": "true"})
    assert request.keeps and request.takes_gzip


@pytest.mark.parametrize(
    ("fields", "keeps", "gzip"),
    [
        (("Connection: close",), False, False),
        (("Accept-Encoding: gzip;q=0",), True, False),
        (("accept-encoding: *",), True, True),
    ],
)
def test_what_fields_say(fields: tuple[str, ...], keeps: bool, gzip: bool) -> None:
    request = parse_head(head("GET / HTTP/1.1", *fields))
    assert (request.keeps, request.takes_gzip) == (keeps, gzip)


def test_http_1_0_closes_unless_asked() -> None:
    assert not parse_head(head("GET / HTTP/1.0")).keeps
    assert parse_head(head("GET / HTTP/1.0", "Connection: keep-alive")).keeps


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (head("nonsense"), 400),
        (head("GET /"), 400),
        (head("GET http://other/ HTTP/1.1"), 400),
        (head("GET / HTTP/2.0"), 505),
        (head("POST / HTTP/1.1"), 405),
        (head("GET / HTTP/1.1", "Content-Length: 5"), 400),
        (head("GET / HTTP/1.1", "Transfer-Encoding: chunked"), 400),
        (head("GET / HTTP/1.1", "no colon"), 400),
        (head("GET / HTTP/1.1", " folded: x"), 400),
        (head("GET / HTTP/1.1", *(f"a{number}: b" for number in range(200))), 431),
        (head("GET /?" + "&".join(f"a{number}=b" for number in range(200)) + " HTTP/1.1"), 400),
        (b"\x00\xff\xfe\r\n\r\n", 400),
    ],
)
def test_what_is_refused(data: bytes, status: int) -> None:
    with pytest.raises(Refused) as refused:
        parse_head(data)
    assert refused.value.status == status


def test_an_answer_says_how_long_it_is() -> None:
    said = Answer(503, b"why\n", fields=(("A", "b"),)).head(keeps=False).decode()
    assert said.startswith("HTTP/1.1 503 Service Unavailable\r\n") and said.endswith("\r\n\r\n")
    assert "Content-Length: 4\r\n" in said and "A: b\r\n" in said and "Connection: close" in said

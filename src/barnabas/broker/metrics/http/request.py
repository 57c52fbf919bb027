"""The head of an HTTP/1.1 request and of its answer: pure, and strict about what it takes."""

from typing import NamedTuple
from urllib.parse import parse_qsl

REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}
END_OF_HEAD = b"\r\n\r\n"
_FIELDS_MAX = 100


class Refused(Exception):
    """The request is answered with this status, and the connection closed."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Request(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    fields: dict[str, str]  # by their names in lower case
    keeps: bool  # may another request follow on this connection?

    @property
    def takes_gzip(self) -> bool:
        for item in self.fields.get("accept-encoding", "").split(","):
            name, _, weight = item.partition(";")
            if name.strip().lower() in ("gzip", "*"):
                return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
        return False


class Answer(NamedTuple):
    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    fields: tuple[tuple[str, str], ...] = ()

    def head(self, *, keeps: bool) -> bytes:
        lines = [f"HTTP/1.1 {self.status} {REASONS[self.status]}"]
        lines += [f"Content-Type: {self.content_type}", f"Content-Length: {len(self.body)}"]
        lines += [f"{name}: {value}" for name, value in self.fields]
        lines += ["Cache-Control: no-store", "X-Content-Type-Options: nosniff"]
        lines.append("Connection: keep-alive" if keeps else "Connection: close")
        return "\r\n".join(lines).encode("latin-1") + END_OF_HEAD


def parse_head(data: bytes) -> Request:
    """`data` ends with the empty line. Raises Refused."""
    lines = data.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/"):
        raise Refused(400, "this is not a request of HTTP/1.1")
    method, target, version = words
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise Refused(505, "HTTP/1.1 is spoken here")
    fields = _fields(lines[1:])
    if method not in ("GET", "HEAD"):
        raise Refused(405, "GET and HEAD are answered here")
    if fields.get("content-length", "0") != "0" or "transfer-encoding" in fields:
        raise Refused(400, "a request with a body is not taken here")
    if not target.startswith("/"):
        raise Refused(400, "the target of a request begins with /")
    path, _, query = target.partition("?")
    wishes = fields.get("connection", "").lower()
    keeps = "close" not in wishes if version == "HTTP/1.1" else "keep-alive" in wishes
    try:
        pairs = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=_FIELDS_MAX))
    except ValueError:
        raise Refused(400, "the query has too many parts") from None
    return Request(method, path, pairs, fields, keeps)


def _fields(lines: list[str]) -> dict[str, str]:
    if len(lines) > _FIELDS_MAX:
        raise Refused(431, "the request has too many header fields")
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip() or "\n" in line or "\r" in line:
            raise Refused(400, "a header field is NAME: VALUE")
        found[name.lower()] = value.strip()
    return found

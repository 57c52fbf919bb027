"""A webhook: what is posted to it becomes records.

A request is answered with 200 when the transaction that has its record is committed, and not before: a sender that gets
no such answer sends it again. If it sends a header with the same id again (Idempotency-Key), it is known by the
position, and answered without a second record.
"""

from __future__ import annotations

import collections
import hashlib
import hmac
import ssl
import threading
import time
from collections.abc import Sequence
from typing import ClassVar, Literal

import msgspec

from barnabas.connect.connectors.http.paths import Route
from barnabas.connect.connectors.http.server import Request, Server
from barnabas.connect.contract import Chunk, Options, Position, Reader, Record, Source
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import Secret, read_options
from barnabas.connect.values.formats import BadValue, decode_json

SPLIT = "requests"
_ID_CHARACTERS_MAX = 256
_PATH_HEADER_MAX = 2000


class HttpSourceOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    port: int
    host: str = "127.0.0.1"
    path: str = "/"
    topics: list[str] = []
    key_header: str = ""
    headers: list[str] = msgspec.field(default_factory=lambda: ["content-type"])
    accept: Literal["any", "json"] = "any"
    token: Secret = ""
    token_header: str = "Authorization"
    secret: Secret = ""
    signature_header: str = "X-Hub-Signature-256"
    id_header: str = "Idempotency-Key"
    remember: int = 1000
    max_bytes: int = 1024 * 1024
    max_connections: int = 200
    max_waiting: int = 1000
    max_waiting_bytes: int = 64 * 1024 * 1024
    answer_timeout_s: float = 30.0
    cert_file: str = ""
    key_file: str = ""

    def __repr__(self) -> str:  # the one that comes with a Struct has the secrets
        return f"{type(self).__name__}(...)"


class HttpSource(Source):
    exactly_once: ClassVar[bool] = False

    def __init__(self, name: str, given: Options) -> None:
        self._options = options = read_options("http", HttpSourceOptions, given)
        if not 0 <= options.port < 65_536:
            raise BadOption(f"option 'port' of http: {options.port}")
        self._route = Route(options.path, options.topics)
        for limit in ("max_bytes", "max_connections", "max_waiting", "max_waiting_bytes", "answer_timeout_s"):
            if getattr(options, limit) <= 0:
                raise BadOption(f"option {limit!r} of http: {getattr(options, limit)} is not above 0")
        if not 0 <= options.remember <= 10_000:
            raise BadOption(f"option 'remember' of http: {options.remember} is not between 0 and 10000")

    def splits(self) -> Sequence[str]:
        return [SPLIT]

    def open(self, split: str, position: Position | None) -> HttpReader:
        return HttpReader(self._options, self._route, position)


class HttpReader(Reader):
    def __init__(self, options: HttpSourceOptions, route: Route, position: Position | None) -> None:
        given = position or {}
        self._options, self._route = options, route
        self._count = self._committed = int(given.get("count", 0))
        self._ids: dict[str, int] = dict.fromkeys((str(each) for each in given.get("ids", ())), self._count)
        self._more = threading.Condition()
        self._waiting: collections.deque[tuple[Request, Record]] = collections.deque()
        self._waiting_bytes = 0
        self._unanswered: collections.deque[tuple[int, Request, int]] = collections.deque()  # count, and bytes
        self._server = Server(
            options.host, options.port, self._tls(), self._handle, options.max_bytes, options.max_connections
        )

    @property
    def port(self) -> int:
        return self._server.port

    def _tls(self) -> ssl.SSLContext | None:
        if not self._options.cert_file:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self._options.cert_file, self._options.key_file or None)
        except (OSError, ssl.SSLError) as problem:
            raise Unavailable(f"http: certificate cannot be read: {problem}", "See cert_file, key_file") from None
        return context

    # In the server's thread

    def _handle(self, request: Request) -> tuple[int, str] | None:
        if request.method not in ("POST", "PUT"):
            return 405, "send it by POST"
        place = self._route.match(request.path.partition("?")[0])
        if place is None:
            return 404, "there is nothing to send to"
        if not self._is_allowed(request):
            return 401, "the signature or token is missing or wrong"
        if self._options.accept == "json":
            try:
                decode_json(request.body)
            except BadValue as problem:
                return 400, f"the body {problem}"[:200]
        if len(request.headers.get(self._options.id_header.lower(), "")) > _ID_CHARACTERS_MAX:
            return 400, f"{self._options.id_header} may have {_ID_CHARACTERS_MAX} characters"
        record = self._record(request, *place)
        with self._more:
            full = len(self._waiting) + len(self._unanswered) >= self._options.max_waiting
            if full or self._waiting_bytes + len(request.body) > self._options.max_waiting_bytes:
                return 503, "too many requests are waiting"
            self._waiting.append((request, record))
            self._waiting_bytes += len(request.body)
            self._more.notify()
        self._server.loop.call_later(
            self._options.answer_timeout_s, request.connection.answer, request, 503, "not written in time"
        )
        return None

    def _is_allowed(self, request: Request) -> bool:
        options = self._options
        if options.token:
            given = request.headers.get(options.token_header.lower(), "")
            given = given[7:] if given[:7].lower() == "bearer " else given
            if not hmac.compare_digest(given.encode("latin-1", "replace"), options.token.encode()):
                return False
        if options.secret:
            given = request.headers.get(options.signature_header.lower(), "").strip().removeprefix("sha256=")
            expected = hmac.new(options.secret.encode(), request.body, hashlib.sha256).hexdigest()
            if not hmac.compare_digest(given.lower().encode("latin-1", "replace"), expected.encode()):
                return False
        return True

    def _record(self, request: Request, topic: str | None, key: str | None) -> Record:
        options = self._options
        if options.key_header:
            key = request.headers.get(options.key_header.lower(), key)
        headers: list[tuple[str, bytes | None]] = [("http.path", request.path[:_PATH_HEADER_MAX].encode())]
        for name in options.headers:
            if (value := request.headers.get(name.lower())) is not None:
                headers.append((name.lower(), value.encode("latin-1", "replace")))
        return Record(request.body, key, topic, None, headers)

    # In the reader's

    def read(self, most: int, wait_s: float) -> Chunk | None:
        deadline = time.monotonic() + wait_s
        records: list[Record] = []
        with self._more:
            while not self._waiting:
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self._more.wait(left)
            while self._waiting and len(records) < most:
                request, record = self._waiting.popleft()
                if request.response is not None:  # nobody waits for it any more, and it will come again
                    self._waiting_bytes -= len(request.body)
                elif (count := self._known(request)) is not None:
                    self._unanswered.append((count, request, len(request.body)))
                else:
                    self._unanswered.append((self._count, request, len(request.body)))
                    records.append(record)
        self._answer()
        return Chunk(records, self._position()) if records else None

    def _known(self, request: Request) -> int | None:
        """The count of a record with the same id. Without one, the request is the next."""
        name = request.headers.get(self._options.id_header.lower(), "") if self._options.id_header else ""
        if name in self._ids:
            return self._ids[name]
        self._count += 1
        if name:
            self._ids[name] = self._count
        return None

    def _position(self) -> Position:
        uncommitted = self._count - self._committed
        for name in list(self._ids)[: max(0, len(self._ids) - self._options.remember - uncommitted)]:
            del self._ids[name]
        return {"count": self._count, "ids": list(self._ids)}

    def committed(self, position: Position) -> None:
        self._committed = max(self._committed, int(position["count"]))
        self._answer()

    def _answer(self) -> None:
        """To each whose record is committed. One with an id that was known may stand before it is its turn."""
        with self._more:
            later: collections.deque[tuple[int, Request, int]] = collections.deque()
            for count, request, size in self._unanswered:
                if count <= self._committed:
                    self._server.answer(request, 200)
                    self._waiting_bytes -= size
                else:
                    later.append((count, request, size))
            self._unanswered = later

    def close(self) -> None:
        self._server.close()

"""Requests to a service, one for each record or for a batch.

What the service takes is written; what it refuses is a dead letter; what it is too busy for comes again, not before the
time that it names. A request carries where its record stands as Idempotency-Key: what is sent again after a crash has
the same one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import ClassVar, Literal
from urllib.parse import quote, urlsplit

import msgspec

from barnabas.connect.connectors.http.client import Answer, Client, Service
from barnabas.connect.connectors.payloads import Template, payload
from barnabas.connect.contract import Delivered, Options, Rejected, Sink, Value, Writer
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.options import Secret, read_options, without_password
from barnabas.connect.values.formats import BadValue, encode_json

_LATER = {408, 425, 429}
_LOGIN = {401, 403, 407}
_RETRY_AFTER_MAX_S = 3600.0
_PARALLEL_MAX = 64


class HttpSinkOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    url: str
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    batch: int = 1
    parallel: int = 1
    headers: dict[str, Secret] = {}
    username: str = ""
    password: Secret = ""
    token: Secret = ""
    content_type: str = ""
    id_header: str = "Idempotency-Key"
    tombstones: Literal["empty", "delete", "skip"] = "empty"
    timeout_s: float = 30.0
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""

    def __repr__(self) -> str:  # the one that comes with a Struct has the secrets
        return f"{type(self).__name__}(...)"


class HttpSink(Sink):
    exactly_once: ClassVar[bool] = False

    def __init__(self, name: str, given: Options) -> None:
        self._name = name
        self._options = options = read_options("http", HttpSinkOptions, given)
        try:
            parts = urlsplit(options.url)
            right = parts.scheme in ("http", "https") and bool(parts.hostname) and "{" not in parts.netloc
            right = right and (parts.port or 1) > 0
        except ValueError:
            right = False
        if not right:
            shown = without_password(options.url)
            raise BadOption(f"option 'url' of http: {shown!r}", "Write it as http://HOST/path/{key}")
        if not 1 <= options.batch <= 10_000 or not 1 <= options.parallel <= _PARALLEL_MAX or options.timeout_s <= 0:
            raise BadOption("http: 'batch' is 1 to 10000, 'parallel' is 1 to 64, 'timeout_s' is above 0")
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        self._target = Template("option 'url' of http", target or "/")
        if options.batch > 1 and self._target.words and set(self._target.words) - {"topic", "partition"}:
            raise BadOption("http: a batch goes to one URL", "Only {topic} and {partition} may be in 'url' then")
        said = [options.token, options.content_type, options.id_header, *options.headers, *options.headers.values()]
        if any(not each.isprintable() or not each.isascii() for each in said):
            raise BadOption(
                "http: 'token', 'headers', 'content_type' and 'id_header' are printable characters of ASCII"
            )
        self._service = Service(options.url, options.username, options.password, options.timeout_s)
        self._service.use_files(options.ca_file, options.cert_file, options.key_file)
        self.not_before = 0.0

    def open(self, topic: str, partition: int) -> HttpWriter:
        self.check_time()
        return HttpWriter(self, self._name, self._options, self._target, self._service)

    def check_time(self) -> None:
        left = self.not_before - time.monotonic()
        if left > 0:
            raise Unavailable(f"{self._service.shown} asks us to wait {left:.0f} s more")


class HttpWriter(Writer):
    def __init__(self, sink: HttpSink, name: str, options: HttpSinkOptions, target: Template, service: Service) -> None:
        self._sink, self._name, self._options, self._target, self._service = sink, name, options, target, service
        self._clients = [Client(service) for _ in range(options.parallel)]
        self._threads = ThreadPoolExecutor(options.parallel) if options.parallel > 1 else None

    def write(self, records: Sequence[Delivered], next_offset: int) -> Sequence[Rejected]:
        self._sink.check_time()
        if self._options.tombstones == "skip":
            records = [each for each in records if each.value is not None]
        batches = [
            records[first : first + self._options.batch] for first in range(0, len(records), self._options.batch)
        ]
        if self._threads is None:
            found = [self._send(self._clients[0], batch) for batch in batches]
        else:
            found = self._send_parallel(batches)
        return [rejected for each in found for rejected in each]

    def _send_parallel(self, batches: list[Sequence[Delivered]]) -> list[list[Rejected]]:
        assert self._threads is not None
        free = list(self._clients)

        def send(batch: Sequence[Delivered]) -> list[Rejected]:
            client = free.pop()  # there are as many as threads
            try:
                return self._send(client, batch)
            finally:
                free.append(client)

        waiting = [self._threads.submit(send, batch) for batch in batches]
        found: list[list[Rejected]] = []
        problem: Unavailable | None = None
        for each in waiting:
            try:
                found.append(each.result())
            except CancelledError:
                continue
            except Unavailable as failed:
                problem = problem or failed
                for other in waiting:
                    other.cancel()
        if problem is not None:
            raise problem
        return found

    def _send(self, client: Client, records: Sequence[Delivered]) -> list[Rejected]:
        """A batch that is refused is sent again in halves, until it is known which of its records are."""
        try:
            method, target, body, kind = self._request(records)
        except BadValue as problem:
            if len(records) == 1:
                return [Rejected(records[0], str(problem))]
            return self._halves(client, records)
        headers = {"Content-Type": self._options.content_type or kind, **self._options.headers}
        if self._options.token:
            headers["Authorization"] = f"Bearer {self._options.token}"
        if self._options.id_header:
            headers[self._options.id_header] = self._id(records)
        answer = client.request(method, target, body, headers)
        if 200 <= answer.status < 300:
            return []
        refused = self._refused(answer)
        if len(records) == 1:
            return [Rejected(records[0], refused)]
        return self._halves(client, records)

    def _halves(self, client: Client, records: Sequence[Delivered]) -> list[Rejected]:
        half = len(records) // 2
        return self._send(client, records[:half]) + self._send(client, records[half:])

    def _request(self, records: Sequence[Delivered]) -> tuple[str, str, bytes, str]:
        first = records[0]
        target = self._target.fill(first, _segment)
        if self._options.batch > 1:
            return self._options.method, target, encode_json([each.value for each in records]), "application/json"
        if first.value is None and self._options.tombstones == "delete":
            return "DELETE", target, b"", "application/octet-stream"
        return self._options.method, target, payload(first.value), _kind(first.value)

    def _id(self, records: Sequence[Delivered]) -> str:
        first, last = records[0], records[-1]
        end = f"-{last.offset}" if len(records) > 1 else ""
        return quote(f"{self._name}-{first.origin}-{first.partition}-{first.offset}{end}", safe="")

    def _refused(self, answer: Answer) -> str:
        """What the service says against it. Raises Unavailable if it is not against the record."""
        said = f"{self._service.shown} answers {answer.status}{': ' if answer.said else ''}{answer.said}"
        if answer.status in _LATER or answer.status >= 500:
            if answer.retry_after_s > 0:
                self._sink.not_before = time.monotonic() + min(answer.retry_after_s, _RETRY_AFTER_MAX_S)
            raise Unavailable(said)
        if answer.status in _LOGIN:
            raise Unavailable(said, "See username and password, token, headers")
        if 300 <= answer.status < 400:
            raise Unavailable(f"{said}: it redirects", "Put the address where it leads into url")
        return said

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
        for client in self._clients:
            client.close()


def _segment(text: str) -> str:
    if text in ("", ".", ".."):
        raise BadValue(f"the key {text!r} cannot be part of a path")
    return quote(text, safe="")


def _kind(value: Value) -> str:
    if isinstance(value, bytes) or value is None:
        return "application/octet-stream"
    return "text/plain; charset=utf-8" if isinstance(value, str) else "application/json"
